import CoreML
import Foundation

/// Classifies texts with a model from `retvec-lite export --format coreml`: raw text in, label and probabilities out.
final class TextClassifier {
    private let model: MLModel
    private let shape: [NSNumber]
    private let decision: Decision?

    /// How many code points of a text the model reads.
    var maxChars: Int { shape.reduce(1) { $0 * $1.intValue } }

    /// - Parameter name: the package in the app, without `.mlpackage`; Xcode compiles it to `.mlmodelc`.
    init(name: String = "classifier-int8", in bundle: Bundle = .main, computeUnits: MLComputeUnits = .all) throws {
        guard let url = bundle.url(forResource: name, withExtension: "mlmodelc") else {
            throw CocoaError(.fileNoSuchFile, userInfo: [NSFilePathErrorKey: "\(name).mlmodelc"])
        }
        let configuration = MLModelConfiguration()
        configuration.computeUnits = computeUnits
        model = try MLModel(contentsOf: url, configuration: configuration)
        guard let input = model.modelDescription.inputDescriptionsByName["codepoints"]?.multiArrayConstraint else {
            throw CocoaError(.fileReadCorruptFile, userInfo: [NSFilePathErrorKey: url.path])
        }
        shape = input.shape
        let metadata = model.modelDescription.metadata[.creatorDefinedKey] as? [String: String]
        // Packages of earlier releases have none; `null` is none as well.
        decision = try? JSONDecoder().decode(Decision.self, from: Data((metadata?["decision"] ?? "null").utf8))
    }

    /// Returns the label of a text and its probability, and the probability of every label. The model does all preprocessing.
    ///
    /// The label is nil for a text that belongs to none of them, with the probability of the most probable one.
    /// - Parameter reject: false gives every text a label.
    func classify(
        _ text: String, reject: Bool = true
    ) throws -> (label: String?, probability: Double, probabilities: [String: Double]) {
        let codepoints = try MLMultiArray(shape: shape, dataType: .int32)
        let length = codepoints.count
        let values = codepoints.dataPointer.bindMemory(to: Int32.self, capacity: length)
        values.update(repeating: 0, count: length)
        for (index, scalar) in text.unicodeScalars.prefix(length).enumerated() {
            values[index] = Int32(scalar.value)
        }
        let output = try model.prediction(from: MLDictionaryFeatureProvider(dictionary: ["codepoints": codepoints]))
        let found = output.featureValue(for: "probabilities")?.dictionaryValue as? [String: NSNumber] ?? [:]
        let probabilities = found.mapValues(\.doubleValue)
        let unknown = reject ? decision?.unknownLabel : nil
        guard let best = probabilities.filter({ $0.key != unknown }).max(by: { $0.value < $1.value }) else {
            return (nil, 0, probabilities)
        }
        var isUnknown = false
        if reject, let decision {
            let none = unknown.flatMap { probabilities[$0] } ?? 0
            isUnknown = best.value < (decision.threshold ?? 0) * pow(none, decision.unknownPower)
                || none > best.value
                || !decision.reads(text.unicodeScalars.prefix(length))
        }
        return (isUnknown ? nil : best.key, best.value, probabilities)
    }

    /// When a text belongs to none of the labels, as the package's metadata say.
    private struct Decision: Decodable {
        let threshold: Double?
        let unknownLabel: String?
        let unknownPower: Double
        private let characters: Set<Unicode.Scalar>

        private enum CodingKeys: String, CodingKey {
            case threshold, characters
            case unknownLabel = "unknown_label"
            case unknownPower = "unknown_power"
        }

        init(from decoder: Decoder) throws {
            let values = try decoder.container(keyedBy: CodingKeys.self)
            threshold = try values.decodeIfPresent(Double.self, forKey: .threshold)
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
