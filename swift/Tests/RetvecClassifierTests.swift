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

    private struct Taught: Decodable {
        struct Case: Decodable {
            let text: String
            let label: String?
            let taught: String?
        }
        let lessons: [[String]]
        let kept: [[String]]
        let plain: [Case]
    }

    func testWhatIsTaughtIsAnsweredAndSaved() throws {
        let golden = try JSONDecoder().decode(Taught.self, from: Data(contentsOf: Golden.folder.appendingPathComponent("taught.json")))
        let file = Golden.folder.appendingPathComponent("taught.memory")
        let saved = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: saved) }
        let classifier = try open("plain")
        for lesson in golden.lessons { try classifier.teach(lesson[0], label: lesson[1]) }
        try classifier.memory.save(to: saved)
        XCTAssertEqual(try Data(contentsOf: saved), try Data(contentsOf: file))
        classifier.memory.clear()
        XCTAssertEqual(classifier.memory.count, 0)
        try classifier.memory.load(contentsOf: saved)
        XCTAssertEqual(classifier.memory.texts.map { [$0.text, $0.label] }, golden.kept)
        for item in golden.plain {
            XCTAssertEqual(classifier.classify(item.text).label, item.label, item.text)
            XCTAssertEqual(classifier.taught(for: item.text), item.taught, item.text)
        }
        for pair in golden.kept { try classifier.forget(pair[0]) }
        XCTAssertTrue(classifier.memory.labels.isEmpty)
        XCTAssertThrowsError(try classifier.teach("a text", label: "no\0label"))
        for number in 0..<100 { try classifier.teach("pets \(number)", label: "pets") }
        XCTAssertEqual(classifier.memory.count, 100)
    }

    func testADamagedFileIsRefused() throws {
        XCTAssertThrowsError(try RetvecClassifier(data: Data("not a model at all".utf8)))
    }
}
