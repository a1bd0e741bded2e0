// Classify the lines of standard input, one label and its probability a line:
//
//     swift run classify classifier-int8.retvec < texts.txt
import Foundation
import RetvecLite

func fail(_ message: String) -> Never {
    FileHandle.standardError.write(Data("\(message)\n".utf8))
    exit(1)
}

guard CommandLine.arguments.count == 2 else { fail("Usage: classify FILE.retvec < texts.txt") }

do {
    let classifier = try RetvecClassifier(contentsOf: URL(fileURLWithPath: CommandLine.arguments[1]))
    while let text = readLine() {
        let answer = classifier.predict(text)
        print(answer.label ?? "none of these", String(format: "%.3f", answer.probability), separator: "\t")
    }
} catch {
    fail(error.localizedDescription)
}
