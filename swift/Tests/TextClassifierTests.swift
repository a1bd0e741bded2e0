#if canImport(CoreML)
import CoreML
import RetvecLiteCoreML
import XCTest

/// Compares packages with the `golden.json` beside each: RETVEC_COREML names their folders, with colons between them.
final class TextClassifierTests: XCTestCase {
    func testTheAnswersAreTheGoldenOnes() throws {
        guard let folders = ProcessInfo.processInfo.environment["RETVEC_COREML"]?.split(separator: ":") else {
            throw XCTSkip("RETVEC_COREML names no folder with classifier-float32.mlpackage and golden.json")
        }
        for folder in folders { try check(URL(fileURLWithPath: String(folder))) }
    }

    private func check(_ folder: URL) throws {
        let golden = try Golden.read(folder.appendingPathComponent("golden.json"))
        let key = "coreml-float32"
        let tolerance = try XCTUnwrap(golden.tolerance[key])
        let model = try MLModel.compileModel(at: folder.appendingPathComponent("classifier-float32.mlpackage"))
        let classifier = try TextClassifier(contentsOf: model)
        var texts = 0
        try golden.forEach(key) { name, text, probabilities, labels in
            for (label, found) in try zip(classifier.labels, classifier.probabilities(text)) {
                XCTAssertEqual(found, try XCTUnwrap(probabilities[label]), accuracy: tolerance, name)
            }
            if let labels { XCTAssertEqual(Set(try classifier.predictAll(text).compactMap { $0.label }), labels, name) }
            texts += 1
        }
        XCTAssertGreaterThan(texts, 80)
    }
}
#endif
