#if canImport(CoreML)
import CoreML
import Foundation
@_exported import RetvecLiteAnswers

/// Classifies texts with a model from `retvec-lite export --format coreml`: raw text in, label and probabilities out.
///
/// Threads may share an instance; their calls wait for each other.
public final class TextClassifier: @unchecked Sendable {  // the model is asked under the lock, all else stays as it is
    private let model: MLModel
    private let lock = NSLock()
    private let shape: [NSNumber]
    /// The labels, in the order of the probabilities.
    public let labels: [String]
    private let decision: Decision?
    /// How common each label is.
    private let shares: [String: Double]
    private let windows: Windows

    /// How many code points the model takes at once; a longer text is read in windows that end at words.
    public var maxChars: Int { windows.maxChars }

    /// How many code points of a text are read, of what a person sees of it; what lies behind them is not.
    public var readLimit: Int { windows.limit }

    /// - Parameter name: the package in the app, without `.mlpackage`; Xcode compiles it to `.mlmodelc`.
    public convenience init(
        name: String = "classifier-int8", in bundle: Bundle = .main, computeUnits: MLComputeUnits = .all
    ) throws {
        guard let url = bundle.url(forResource: name, withExtension: "mlmodelc") else {
            throw RetvecError(code: "CANNOT_LOAD", "There is no \(name).mlmodelc in the app: add the package to its target in Xcode.")
        }
        try self.init(contentsOf: url, computeUnits: computeUnits)
    }

    /// - Parameter url: a compiled model, such as `MLModel.compileModel(at:)` makes of a downloaded package.
    public init(contentsOf url: URL, computeUnits: MLComputeUnits = .all) throws {
        let configuration = MLModelConfiguration()
        configuration.computeUnits = computeUnits
        model = try RetvecError.with("CANNOT_LOAD", url) { try MLModel(contentsOf: url, configuration: configuration) }
        let metadata = model.modelDescription.metadata[.creatorDefinedKey] as? [String: String] ?? [:]
        guard let input = model.modelDescription.inputDescriptionsByName["codepoints"]?.multiArrayConstraint,
            let version = metadata["contract_version"].flatMap({ Int($0) })
        else {
            throw RetvecError(code: "RVL_NOT_RETVEC", "\(url.lastPathComponent) was not exported by retvec-lite.")
        }
        guard version == 3 else {
            throw RetvecError(code: "RVL_VERSION", "The model follows contract version \(version), this class 3. Use both from one release.")
        }
        shape = input.shape
        windows = Windows(maxChars: input.shape.reduce(1) { $0 * $1.intValue })
        let labels: [String]
        let decision: Decision?
        do {
            labels = try JSONDecoder().decode([String].self, from: Data((metadata["labels"] ?? "").utf8))
            // Some packages have none; `null` is none as well.
            let said = metadata["decision"].flatMap { $0 == "null" ? nil : $0 }
            decision = try said.map { try JSONDecoder().decode(Decision.self, from: Data($0.utf8)) }
        } catch {
            throw RetvecError(code: "RVL_DAMAGED", "The metadata of \(url.lastPathComponent) are damaged: export it again.")
        }
        let shares = decision?.shares ?? labels.map { _ in 1 / Double(labels.count) }
        guard !labels.isEmpty, shares.count == labels.count, decision?.thresholds.map({ $0.count == labels.count }) ?? true else {
            throw RetvecError(code: "RVL_DAMAGED", "The metadata of \(url.lastPathComponent) do not fit its labels: export it again.")
        }
        self.labels = labels
        self.decision = decision
        self.shares = Dictionary(zip(labels, shares), uniquingKeysWith: { first, _ in first })
    }

    /// Returns the label of a text and its probability. The label is nil for a text that belongs to none of them.
    /// - Parameter reject: false gives every text a label.
    public func predict(_ text: String, reject: Bool = true) throws -> RetvecPrediction {
        let found = try answer(text)
        let unknown = reject ? decision?.unknownLabel : nil
        guard let best = found.probabilities.filter({ $0.key != unknown }).max(by: { $0.value < $1.value }) else {
            return RetvecPrediction(label: nil, probability: 0)
        }
        if !reject { return RetvecPrediction(label: best.key, probability: best.value) }
        return decide(found).first ?? RetvecPrediction(label: nil, probability: best.value)
    }

    /// Returns what `predict` says of each text.
    public func predictMany<Texts: Sequence>(
        _ texts: Texts, reject: Bool = true
    ) throws -> [RetvecPrediction] where Texts.Element == String {
        try texts.map { try predict($0, reject: reject) }
    }

    /// Returns all labels of a text, most probable first.
    ///
    /// There is one label or none; any number if the model was trained with several labels a text.
    public func predictAll(_ text: String) throws -> [RetvecPrediction] { decide(try answer(text)) }

    /// Returns the probability of each of `labels`.
    public func probabilities(_ text: String) throws -> [Double] {
        let found = try answer(text).probabilities
        return labels.map { found[$0] ?? 0 }
    }

    /// The probabilities of a text, and whether it has a known letter.
    private typealias Answer = (probabilities: [String: Double], isRead: Bool)

    private func answer(_ text: String) throws -> Answer {
        let read = windows.read(text)
        let found = try counted(windows.cut(read)).map { try probabilities(ofWindow: $0) }
        let combined = Windows.combine(
            found, unknown: decision?.unknownLabel, several: decision?.thresholds != nil, shares: shares)
        return (combined, decision?.reads(read) ?? true)
    }

    /// Returns the windows that count: those with a known letter, all if none has one.
    private func counted(_ all: [ArraySlice<Unicode.Scalar>]) -> [ArraySlice<Unicode.Scalar>] {
        guard let decision else { return all }
        let known = all.filter { decision.reads($0) }
        return known.isEmpty ? all : known
    }

    private func probabilities(ofWindow window: ArraySlice<Unicode.Scalar>) throws -> [String: Double] {
        let codepoints = try MLMultiArray(shape: shape, dataType: .int32)
        let length = codepoints.count
        let values = codepoints.dataPointer.bindMemory(to: Int32.self, capacity: length)
        values.update(repeating: 0, count: length)
        for (index, scalar) in window.enumerated() {
            values[index] = Int32(scalar.value)
        }
        let given = try MLDictionaryFeatureProvider(dictionary: ["codepoints": codepoints])
        lock.lock()
        defer { lock.unlock() }
        let output = try model.prediction(from: given)
        let found = output.featureValue(for: "probabilities")?.dictionaryValue as? [String: NSNumber] ?? [:]
        return found.mapValues(\.doubleValue)
    }

    private func decide(_ answer: Answer) -> [RetvecPrediction] {
        if !answer.isRead { return [] }
        let all = labels.map { RetvecPrediction(label: $0, probability: answer.probabilities[$0] ?? 0) }
        if let thresholds = decision?.thresholds {
            return zip(all, thresholds).filter { $0.0.probability >= $0.1 }.map { $0.0 }
                .sorted { $0.probability > $1.probability }
        }
        let known = all.filter { $0.label != decision?.unknownLabel }
        guard let best = known.max(by: { $0.probability < $1.probability }) else { return [] }
        let none = decision?.unknownLabel.flatMap { answer.probabilities[$0] } ?? 0
        let least = (decision?.threshold ?? 0) * pow(none, decision?.unknownPower ?? 0)
        return best.probability < least || none > best.probability ? [] : [best]
    }

    /// Which labels a text has, and when it has none, as the package's metadata say.
    private struct Decision: Decodable {
        let threshold: Double?
        let thresholds: [Double]?
        let shares: [Double]?
        let unknownLabel: String?
        let unknownPower: Double
        private let characters: Set<Unicode.Scalar>

        private enum CodingKeys: String, CodingKey {
            case threshold, thresholds, shares, characters
            case unknownLabel = "unknown_label"
            case unknownPower = "unknown_power"
        }

        init(from decoder: Decoder) throws {
            let values = try decoder.container(keyedBy: CodingKeys.self)
            threshold = try values.decodeIfPresent(Double.self, forKey: .threshold)
            thresholds = try values.decodeIfPresent([Double].self, forKey: .thresholds)
            shares = try values.decodeIfPresent([Double].self, forKey: .shares)
            unknownLabel = try values.decodeIfPresent(String.self, forKey: .unknownLabel)
            unknownPower = try values.decode(Double.self, forKey: .unknownPower)
            characters = Set(try values.decode(String.self, forKey: .characters).unicodeScalars)
        }

        /// Whether there is a letter, digit or sign of the training texts.
        func reads<Scalars: Sequence>(_ text: Scalars) -> Bool where Scalars.Element == Unicode.Scalar {
            characters.isEmpty || text.contains { characters.contains($0) }
        }
    }
}
#endif
