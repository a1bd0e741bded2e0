import CoreML

/// Classifies texts with a model from `retvec-lite export --format coreml`: raw text in, label and probabilities out.
final class TextClassifier {
    private let model: MLModel
    private let shape: [NSNumber]

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
    }

    /// Returns the most probable label and the probability of every label. The model does all preprocessing.
    func classify(_ text: String) throws -> (label: String, probabilities: [String: Double]) {
        let codepoints = try MLMultiArray(shape: shape, dataType: .int32)
        let length = codepoints.count
        let values = codepoints.dataPointer.bindMemory(to: Int32.self, capacity: length)
        values.update(repeating: 0, count: length)
        for (index, scalar) in text.unicodeScalars.prefix(length).enumerated() {
            values[index] = Int32(scalar.value)
        }
        let output = try model.prediction(from: MLDictionaryFeatureProvider(dictionary: ["codepoints": codepoints]))
        let label = output.featureValue(for: "label")?.stringValue ?? ""
        let probabilities = output.featureValue(for: "probabilities")?.dictionaryValue as? [String: NSNumber] ?? [:]
        return (label, probabilities.mapValues(\.doubleValue))
    }
}
