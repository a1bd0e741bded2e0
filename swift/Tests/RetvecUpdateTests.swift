#if canImport(CryptoKit)
import RetvecLite
import XCTest

/// The updates that Python, JavaScript and Kotlin take and refuse as well.
@available(iOS 13, macOS 10.15, tvOS 13, watchOS 6, *)
final class RetvecUpdateTests: XCTestCase {
    private struct Whole: Decodable {
        let value: Int?

        init(from decoder: Decoder) throws {
            value = try? decoder.singleValueContainer().decode(Int.self)
        }
    }

    private struct Case: Decodable {
        let name: String
        let code: String?
        let manifest: String
        let signature: String
        let key: String
        let model: String
        let installed: Whole?
        let file: String
        let content: String
        let answers: [String: [String]]
    }

    private func bytes(_ digits: String) -> Data {
        let all = Array(digits)
        return Data(stride(from: 0, to: all.count, by: 2).map { UInt8(String(all[$0...($0 + 1)]), radix: 16)! })
    }

    func testEveryUpdateIsTakenOrRefusedWithItsCode() throws {
        let file = Golden.folder.deletingLastPathComponent().appendingPathComponent("tests/data/updates.json")
        let cases = try JSONDecoder().decode([Case].self, from: Data(contentsOf: file))
        for item in cases {
            guard let installed = item.installed?.value else { continue }  // the compiler refuses the others
            var code: String?
            do {
                let update = try RetvecUpdate(
                    manifest: Data(item.manifest.utf8), signature: bytes(item.signature), key: item.key, name: item.model, installed: installed
                )
                try update.check(item.file, Data(item.content.utf8))
                try update.tryTexts { text in item.answers[text] ?? [] }
            } catch let error as RetvecError {
                code = error.code
            }
            XCTAssertEqual(code, item.code, item.name)
        }
        XCTAssertEqual(Set(cases.map(\.code)).count, 10)
    }
}
#endif
