import XCTest

@testable import RetvecLiteCoreML

final class CondenseTests: XCTestCase {
    private func read(_ text: String) -> String {
        String(String.UnicodeScalarView(Windows(maxChars: 160).read(text)))
    }

    func testTheExampleOfTheContract() {
        XCTAssertEqual(read("f - r - e - e   <b>m&#111;ney</b>!!!!!!!!!!!!%20now"), "free money!!!!!!!!!!!! now")
    }

    func testWhatIsDisplayedIsRead() {
        XCTAssertEqual(read("frxy\u{8}\u{8}ee \u{202E}yenom"), "free money")
        XCTAssertEqual(read("m\u{202D}\u{2066}\u{202E}\u{2066}n\u{2069}\u{2066}o\u{2069}\u{202C}\u{2069}\u{202C}ey"), "money")
        XCTAssertEqual(read("\u{202E}\u{5E9}\u{5DC}\u{5D5}\u{5DD}\u{202C} now"), "\u{5E9}\u{5DC}\u{5D5}\u{5DD} now")
        XCTAssertEqual(read("\u{1F1EB} \u{1F1F7} \u{1F1EA} \u{1F1EA}   \u{1F1EE} \u{1F1F9}"), "FREE IT")
    }

    func testTextsOfTheGoldenFilesAreReadAsInPython() throws {
        let file = Golden.folder.deletingLastPathComponent().appendingPathComponent("tests/data/exported/pool/golden.json")
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
