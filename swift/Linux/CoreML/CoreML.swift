/// What `TextClassifier` uses of Core ML, for tests on Linux. Our evaluator of packages, in Python, answers through two named pipes:
/// tests/support/swift_check.py.
import Foundation

private final class Evaluator: @unchecked Sendable {
    static let shared = Evaluator()
    private let asked, answered: UnsafeMutablePointer<FILE>

    private init() {
        let folder = ProcessInfo.processInfo.environment["RETVEC_EVALUATOR"]!
        asked = fopen(folder + "/asked", "w")!
        answered = fopen(folder + "/answered", "r")!
    }

    /// One question at a time: `TextClassifier` has a lock, and tests have one thread.
    func ask(_ package: URL, _ codepoints: [Int32]? = nil) throws -> [String: Any] {
        let question: [String: Any] = ["package": package.path, "codepoints": codepoints.map { $0.map(Int.init) } as Any? ?? NSNull()]
        let sent = try JSONSerialization.data(withJSONObject: question) + Data("\n".utf8)
        _ = sent.withUnsafeBytes { fwrite($0.baseAddress, 1, $0.count, asked) }
        fflush(asked)
        var line: UnsafeMutablePointer<CChar>?
        var room = 0
        defer { free(line) }
        guard getline(&line, &room, answered) > 0, let line,
            let found = try JSONSerialization.jsonObject(with: Data(String(cString: line).utf8)) as? [String: Any]
        else { throw CocoaError(.fileReadCorruptFile) }
        return found
    }
}

public enum MLComputeUnits: Sendable { case all, cpuOnly }

public final class MLModelConfiguration {
    public var computeUnits = MLComputeUnits.all
    public init() {}
}

public enum MLMultiArrayDataType { case int32 }

public final class MLMultiArray {
    public let count: Int
    public let dataPointer: UnsafeMutableRawPointer

    public init(shape: [NSNumber], dataType: MLMultiArrayDataType) throws {
        count = shape.reduce(1) { $0 * $1.intValue }
        dataPointer = .allocate(byteCount: 4 * count, alignment: 4)
        dataPointer.initializeMemory(as: UInt8.self, repeating: 0xA5, count: 4 * count)  // what Core ML gives is not cleared
    }

    deinit { dataPointer.deallocate() }
}

public struct MLMultiArrayConstraint { public let shape: [NSNumber] }
public struct MLFeatureDescription { public let multiArrayConstraint: MLMultiArrayConstraint? }
public struct MLModelMetadataKey: Hashable, Sendable { public static let creatorDefinedKey = MLModelMetadataKey() }
public struct MLFeatureValue { public let dictionaryValue: [AnyHashable: NSNumber] }

public struct MLModelDescription {
    public let metadata: [MLModelMetadataKey: Any]
    public let inputDescriptionsByName: [String: MLFeatureDescription]
}

public struct MLDictionaryFeatureProvider {
    fileprivate let values: [String: Any]
    public init(dictionary: [String: Any]) throws { values = dictionary }
    public func featureValue(for name: String) -> MLFeatureValue? {
        (values[name] as? [String: NSNumber]).map { MLFeatureValue(dictionaryValue: $0) }
    }
}

public final class MLModel {
    private let package: URL
    public let modelDescription: MLModelDescription

    public static func compileModel(at url: URL) throws -> URL { url }

    public init(contentsOf url: URL, configuration: MLModelConfiguration) throws {
        package = url
        let found = try Evaluator.shared.ask(url)
        let inputs = (found["inputs"] as? [String: [NSNumber]] ?? [:]).mapValues {
            MLFeatureDescription(multiArrayConstraint: MLMultiArrayConstraint(shape: $0))
        }
        modelDescription = MLModelDescription(metadata: [.creatorDefinedKey: found["metadata"] as Any], inputDescriptionsByName: inputs)
    }

    public func prediction(from given: MLDictionaryFeatureProvider) throws -> MLDictionaryFeatureProvider {
        guard let array = given.values["codepoints"] as? MLMultiArray else { throw CocoaError(.coderInvalidValue) }
        let codes = UnsafeBufferPointer(start: array.dataPointer.assumingMemoryBound(to: Int32.self), count: array.count)
        return try MLDictionaryFeatureProvider(dictionary: Evaluator.shared.ask(package, Array(codes)))
    }
}
