#if canImport(CoreML)
import CoreML
import Foundation

/// Classifies texts with a model from `retvec-lite export --format coreml`: raw text in, label and probabilities out.
public final class TextClassifier {
    private let model: MLModel
    private let shape: [NSNumber]
    private let labels: [String]
    private let decision: Decision?
    /// How common each label is, nil up to contract version 2.
    private let shares: [String: Double]?
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
            throw CocoaError(.fileNoSuchFile, userInfo: [NSFilePathErrorKey: "\(name).mlmodelc"])
        }
        try self.init(contentsOf: url, computeUnits: computeUnits)
    }

    /// - Parameter url: a compiled model, such as `MLModel.compileModel(at:)` makes of a downloaded package.
    public init(contentsOf url: URL, computeUnits: MLComputeUnits = .all) throws {
        let configuration = MLModelConfiguration()
        configuration.computeUnits = computeUnits
        model = try MLModel(contentsOf: url, configuration: configuration)
        guard let input = model.modelDescription.inputDescriptionsByName["codepoints"]?.multiArrayConstraint else {
            throw CocoaError(.fileReadCorruptFile, userInfo: [NSFilePathErrorKey: url.path])
        }
        shape = input.shape
        let metadata = model.modelDescription.metadata[.creatorDefinedKey] as? [String: String]
        let version = Int(metadata?["contract_version"] ?? "1") ?? 1
        guard (1...3).contains(version) else {
            let problem = "The model follows contract version \(version), this class 1 to 3. Use both from one release."
            throw CocoaError(.fileReadCorruptFile, userInfo: [NSFilePathErrorKey: url.path, NSLocalizedDescriptionKey: problem])
        }
        windows = Windows(maxChars: input.shape.reduce(1) { $0 * $1.intValue }, contractVersion: version)
        let labels = (try? JSONDecoder().decode([String].self, from: Data((metadata?["labels"] ?? "[]").utf8))) ?? []
        // Packages of earlier releases have none; `null` is none as well.
        let decision = try? JSONDecoder().decode(Decision.self, from: Data((metadata?["decision"] ?? "null").utf8))
        let shares = decision?.shares ?? labels.map { _ in 1 / Double(labels.count) }
        self.shares = version > 2 ? Dictionary(zip(labels, shares), uniquingKeysWith: { first, _ in first }) : nil
        self.labels = labels
        self.decision = decision
    }

    /// Returns the label of a text and its probability, and the probability of every label. The model does all preprocessing.
    ///
    /// The label is nil for a text that belongs to none of them, with the probability of the most probable one.
    /// - Parameter reject: false gives every text a label.
    public func classify(
        _ text: String, reject: Bool = true
    ) throws -> (label: String?, probability: Double, probabilities: [String: Double]) {
        let probabilities = try self.probabilities(of: text)
        let unknown = reject ? decision?.unknownLabel : nil
        guard let best = probabilities.filter({ $0.key != unknown }).max(by: { $0.value < $1.value }) else {
            return (nil, 0, probabilities)
        }
        guard reject else { return (best.key, best.value, probabilities) }
        let first = answers(to: text, probabilities).first
        return (first?.label, first?.probability ?? best.value, probabilities)
    }

    /// Returns all labels of a text with their probabilities, most probable first.
    ///
    /// There is one label or none; any number if the model was trained with several labels a text.
    public func classifyAll(_ text: String) throws -> [(label: String, probability: Double)] {
        answers(to: text, try self.probabilities(of: text))
    }

    private func probabilities(of text: String) throws -> [String: Double] {
        let found = try counted(windows.cut(text)).map { try self.probabilities(ofWindow: $0) }
        return Windows.combine(
            found, unknown: decision?.unknownLabel, several: decision?.thresholds != nil, shares: shares)
    }

    /// Returns the windows that count: from contract version 3 on those with a known letter, all if none has one.
    private func counted(_ all: [ArraySlice<Unicode.Scalar>]) -> [ArraySlice<Unicode.Scalar>] {
        guard windows.contractVersion > 2, let decision else { return all }
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
        let output = try model.prediction(from: MLDictionaryFeatureProvider(dictionary: ["codepoints": codepoints]))
        let found = output.featureValue(for: "probabilities")?.dictionaryValue as? [String: NSNumber] ?? [:]
        return found.mapValues(\.doubleValue)
    }

    private func answers(to text: String, _ probabilities: [String: Double]) -> [(label: String, probability: Double)] {
        if let decision, !decision.reads(windows.decided(text)) { return [] }
        let all = labels.map { (label: $0, probability: probabilities[$0] ?? 0) }
        if let thresholds = decision?.thresholds {
            return zip(all, thresholds).filter { $0.0.probability >= $0.1 }.map { $0.0 }
                .sorted { $0.probability > $1.probability }
        }
        let known = all.filter { $0.label != decision?.unknownLabel }
        guard let best = known.max(by: { $0.probability < $1.probability }) else { return [] }
        let none = decision?.unknownLabel.flatMap { probabilities[$0] } ?? 0
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

        /// Whether there is a letter or digit that training texts contained.
        func reads<Scalars: Sequence>(_ text: Scalars) -> Bool where Scalars.Element == Unicode.Scalar {
            characters.isEmpty || text.contains { characters.contains($0) }
        }
    }
}
#endif
