import RetvecLite
import XCTest

final class RetvecClassifierTests: XCTestCase {
    private func open(_ name: String) throws -> RetvecClassifier {
        try RetvecClassifier(contentsOf: Golden.folder.appendingPathComponent("\(name).retvec"))
    }

    func testTheAnswersAreTheGoldenOnes() throws {
        for (name, key) in [("plain", "engine-int8"), ("rejecting", "engine-int8"), ("several", "engine-int8")] {
            let golden = try Golden.read(Golden.folder.appendingPathComponent("\(name).json"))
            let classifier = try open(name)
            XCTAssertEqual(classifier.labels, golden.labels)
            let tolerance = try XCTUnwrap(golden.tolerance[key])
            var texts = 0
            try golden.forEach(key) { name, text, probabilities, labels in
                for (label, found) in zip(classifier.labels, classifier.probabilities(text)) {
                    XCTAssertEqual(Double(found), try XCTUnwrap(probabilities[label]), accuracy: tolerance, name)
                }
                if let labels { XCTAssertEqual(Set(classifier.predictAll(text).compactMap { $0.label }), labels, name) }
                texts += 1
            }
            XCTAssertGreaterThan(texts, 100)
        }
    }

    func testEmbeddingsHaveLengthOneAndEveryWordIsExplained() throws {
        let classifier = try open("plain")
        let found = try classifier.embed("where is my parcel")
        XCTAssertEqual(found.count, classifier.embeddingSize)
        XCTAssertEqual(found.reduce(0) { $0 + $1 * $1 }, 1, accuracy: 1e-5)
        let text = "<b>cafe\u{301}</b> \u{1F4E6}\u{FE0F} is &#109;y \u{958}"
        XCTAssertEqual(try classifier.explain(text).map { String(text[$0.range]) }, text.split(separator: " ").map(String.init))
        XCTAssertThrowsError(try classifier.explain(text, label: "no such label")) { XCTAssertEqual(($0 as? RetvecError)?.code, "WRONG_CALL") }
        XCTAssertEqual(classifier.predictMany([text, "music"])[1], classifier.predict("music"))
        XCTAssertTrue(classifier.metadata.contains("contract_version"))
    }

    private struct Explained: Decodable {
        struct Case: Decodable {
            let text: String
            let label: String?
            let spans: [[Int]]
            let weights: [String: [Double]]
        }
        let tolerance: [String: Double]
        let cases: [Case]
    }

    func testGoldenTextsAreExplainedAsTheyAreGiven() throws {
        let golden = try JSONDecoder().decode(Explained.self, from: Data(contentsOf: Golden.folder.appendingPathComponent("explained.json")))
        for name in ["plain", "rejecting", "several"] {
            let classifier = try open(name)
            for item in golden.cases {
                let points = item.text.unicodeScalars
                let found = try classifier.explain(item.text, label: item.label)
                XCTAssertEqual(found.map { [$0.range.lowerBound, $0.range.upperBound].map { points.distance(from: points.startIndex, to: $0) } }, item.spans)
                for (span, weight) in zip(found, try XCTUnwrap(item.weights[name])) {
                    XCTAssertEqual(span.weight, weight, accuracy: try XCTUnwrap(golden.tolerance[".retvec"]), item.text)
                }
            }
        }
    }

    func testThreadsShareAClassifier() throws {
        let classifier = try open("plain")
        let expected = classifier.predict("where is my parcel")
        DispatchQueue.concurrentPerform(iterations: 8) { _ in
            XCTAssertEqual(classifier.predict("where is my parcel"), expected)
        }
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
            let found = classifier.predict(item.text)
            XCTAssertEqual(found.label, item.label, item.text)
            XCTAssertEqual(found.taught, item.taught, item.text)
        }
        for pair in golden.kept { try classifier.forget(pair[0]) }
        XCTAssertTrue(classifier.memory.labels.isEmpty)
        XCTAssertThrowsError(try classifier.teach("a text", label: "no\0label"))
        for number in 0..<100 { try classifier.teach("pets \(number)", label: "pets") }
        XCTAssertEqual(classifier.memory.count, 100)
    }

    func testADamagedFileIsRefused() throws {
        func code(_ data: Data) -> String? {
            do {
                _ = try RetvecClassifier(data: data)
                return nil
            } catch {
                return (error as? RetvecError)?.code
            }
        }
        let whole = try Data(contentsOf: Golden.folder.appendingPathComponent("plain.retvec"))
        XCTAssertEqual(code(Data("not a model at all".utf8)), "RVL_NOT_RETVEC")
        XCTAssertEqual(code(Data()), "RVL_NOT_RETVEC")
        XCTAssertEqual(code(whole.prefix(whole.count / 2)), "RVL_TRUNCATED")
        XCTAssertNil(code((Data([0]) + whole).dropFirst()))
        XCTAssertThrowsError(try open("missing")) { XCTAssertEqual(($0 as? RetvecError)?.code, "CANNOT_LOAD") }
    }
}
