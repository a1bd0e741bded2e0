import RetvecLite
import XCTest

final class RetvecClassifierTests: XCTestCase {
    private func open(_ name: String) throws -> RetvecClassifier {
        try RetvecClassifier(contentsOf: Golden.folder.appendingPathComponent("\(name).retvec"))
    }

    func testTheAnswersAreTheGoldenOnes() throws {
        for (name, key) in [("plain", "engine-int4"), ("rejecting", "engine-int8"), ("several", "engine-int8")] {
            let golden = try Golden.read(Golden.folder.appendingPathComponent("\(name).json"))
            let classifier = try open(name)
            XCTAssertEqual(classifier.labels, golden.labels)
            let tolerance = try XCTUnwrap(golden.tolerance[key])
            var texts = 0
            try golden.forEach(key) { name, text, probabilities, labels in
                let found = classifier.classify(text).probabilities
                for (label, expected) in probabilities {
                    XCTAssertEqual(try XCTUnwrap(found[label]), expected, accuracy: tolerance, name)
                }
                if let labels { XCTAssertEqual(Set(classifier.classifyAll(text).map { $0.label }), labels, name) }
                texts += 1
            }
            XCTAssertGreaterThan(texts, 100)
        }
    }

    func testEmbeddingsHaveLengthOneAndEveryWordIsExplained() throws {
        let classifier = try open("plain")
        let found = classifier.embed("where is my parcel")
        XCTAssertEqual(found.count, classifier.embeddingSize)
        XCTAssertEqual(found.reduce(0) { $0 + $1 * $1 }, 1, accuracy: 1e-5)
        let text = "where is my parcel"
        XCTAssertEqual(classifier.explain(text).map { String(text[$0.range]) }, ["where", "is", "my", "parcel"])
    }

    func testADamagedFileIsRefused() throws {
        XCTAssertThrowsError(try RetvecClassifier(data: Data("not a model at all".utf8)))
    }
}
