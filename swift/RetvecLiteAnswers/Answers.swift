import Foundation

/// The label of a text, nil if it belongs to none, and the probability of the most probable label.
public struct RetvecPrediction: Equatable, Sendable {
    public let label: String?
    public let probability: Double
    /// The taught text by which a memory answered; nil where the model did.
    public let taught: String?

    public init(label: String?, probability: Double, taught: String? = nil) {
        self.label = label
        self.probability = probability
        self.taught = taught
    }
}

/// The one error of this package: a sentence that says what is wrong and how to fix it, and a code for programs.
public struct RetvecError: LocalizedError, Sendable {
    /// A name of `engine/retvec_lite.h`, such as `RVL_DAMAGED`, or `CANNOT_LOAD` and `CANNOT_SAVE` for a file that cannot be read or written,
    /// and `WRONG_CALL` for an argument, or a call that the model cannot answer.
    public let code: String
    public let errorDescription: String?

    public init(code: String, _ sentence: String) {
        self.code = code
        errorDescription = sentence
    }

    /// Reads or writes a file; any problem becomes one of this type.
    public static func with<Result>(_ code: String, _ url: URL, _ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch {
            let done = code == "CANNOT_SAVE" ? "written" : "read"
            throw RetvecError(code: code, "\(url.path) cannot be \(done): \(error.localizedDescription)")
        }
    }
}
