import XCTest

@testable import RetvecLiteCoreML

final class CondenseTests: XCTestCase {
    private func read(_ text: String) -> String {
        String(String.UnicodeScalarView(Condensed(text, limit: 3_328).points))
    }

    func testTheExampleOfTheContract() {
        XCTAssertEqual(read("f - r - e - e   <b>m&#111;ney</b>!!!!!!%20now"), "free money! now")
    }

    func testTextsOfTheGoldenFilesAreReadAsInPython() throws {
        let file = Golden.folder.deletingLastPathComponent()
            .appendingPathComponent("android_demo/app/src/test/resources/golden.json")
        let golden = try Golden.read(file)
        let texts = golden.cases.filter { $0.name.hasSuffix(", condensed") }
        for item in texts {
            let expected = try XCTUnwrap(item.codepoints).compactMap { UInt32(exactly: $0).flatMap { scalar in Unicode.Scalar(scalar) } }
            XCTAssertEqual(read(try XCTUnwrap(item.text)), String(String.UnicodeScalarView(expected)), item.name)
        }
        XCTAssertGreaterThan(texts.count, 20)
    }

    func testPaddingOfAnyLengthTakesNoRoom() {
        for padding in [" .", "\u{200B}", "<b>", "&#32;", "aaa", "1"] {
            let found = read(String(repeating: padding, count: 100_000) + " Where is my parcel?")
            XCTAssertTrue(found.hasSuffix("Where is my parcel?") && found.unicodeScalars.count < 30, found)
        }
    }
}
