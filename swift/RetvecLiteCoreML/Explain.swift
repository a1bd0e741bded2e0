#if canImport(CoreML)
import Foundation

/// A part of a text, and how much it speaks for a label.
public struct TextSpan {
    /// Where it stands in the text.
    public let range: Range<String.Index>
    /// By how much the natural logarithm of the label's probability falls without it; below 0 where it speaks against the label.
    public let weight: Double
}

extension TextClassifier {
    /// Tells which words of a text speak for a label, the most probable one by default; empty for an unknown label.
    ///
    /// The text is classified again without each of its words, so n words take the time of n + 1 calls. Scripts without spaces are
    /// cut into pieces of one to three characters, and so are the words of a text of one or two.
    public func explain(_ text: String, label: String? = nil) throws -> [TextSpan] {
        let read = text.unicodeScalars.prefix(readLimit)
        let inWindows = read.count > maxChars
        let whole = try classify(String(read)).probabilities
        let best = whole.max { $0.value < $1.value }?.key
        guard let place = label ?? best, let probability = whole[place] else { return [] }
        // A probability may be rounded to 0.
        func log(_ value: Double) -> Double { Foundation.log(max(value, Double(Float.leastNormalMagnitude))) }
        return try findParts(read).map { part in
            let without = try classify(leaveOut(read, part, inWindows)).probabilities[place] ?? 0
            return TextSpan(range: part, weight: log(probability) - log(without))
        }
    }
}

/// Returns the parts of a text that are left out one by one: its words, or pieces of them.
private func findParts(_ text: Substring.UnicodeScalarView) -> [Range<String.Index>] {
    let runs = findRuns(text)
    let whole = runs.flatMap { $0.script == .spaced ? $0.cut(.max) : $0.cut($0.script.length) }
    return whole.count > 2 ? whole : runs.flatMap { $0.cut($0.script.length) }
}

/// Returns a text without a part. A blank stands in its place, so that its neighbours do not become one word; in a text that is
/// read in windows as many blanks as it had characters, so that other windows shift less.
private func leaveOut(_ text: Substring.UnicodeScalarView, _ part: Range<String.Index>, _ inWindows: Bool) -> String {
    if inWindows {
        let blanks = String(repeating: " ", count: text[part].count)
        return String(text[..<part.lowerBound]) + blanks + String(text[part.upperBound...])
    }
    var before = text[..<part.lowerBound]
    while let last = before.last, isSeparator(last) { before.removeLast() }
    return String(before) + " " + String(text[part.upperBound...].drop(while: isSeparator))
}

private enum Script {
    case spaced, han, kana, southEastAsian
    /// A mark, or an invisible character.
    case joining

    /// Characters of a part, at most.
    var length: Int {
        switch self {
        case .han: return 1
        case .kana: return 2
        case .spaced, .southEastAsian, .joining: return 3
        }
    }

    /// `nil` for a separator.
    init?(_ scalar: Unicode.Scalar) {
        guard !isSeparator(scalar) else { return nil }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .spacingMark, .enclosingMark, .format:
            self = .joining
            return
        default: break
        }
        // The contract's scripts without spaces between words.
        switch scalar.value {
        case 0x2E80...0x2FDF, 0x3005...0x3007, 0x3021...0x3029, 0x3038...0x303B, 0x3400...0x4DBF, 0x4E00...0x9FFF,
             0xF900...0xFAFF, 0x20000...0x3FFFF:
            self = .han
        case 0x3031...0x3035, 0x303C, 0x3040...0x30FA, 0x30FC...0x30FF, 0x31F0...0x31FF, 0xFF66...0xFF9F, 0x1AFF0...0x1B16F:
            self = .kana
        case 0x0E00...0x0EFF, 0x1000...0x109F, 0x1780...0x17FF, 0x19E0...0x19FF, 0xA9E0...0xA9FF, 0xAA60...0xAA7F:
            self = .southEastAsian
        default: self = .spaced
        }
    }
}

/// An unbroken run of one script: where its characters start, and where the last one ends.
private struct Run {
    let script: Script
    let edges: [String.Index]

    /// Cuts the run into parts of similar length, of `most` characters at most.
    func cut(_ most: Int) -> [Range<String.Index>] {
        let length = edges.count - 1
        let count = (length - 1) / most + 1
        return (0..<count).map { edges[$0 * length / count]..<edges[($0 + 1) * length / count] }
    }
}

private func findRuns(_ text: Substring.UnicodeScalarView) -> [Run] {
    var runs: [Run] = []
    var script = Script.joining
    var starts: [String.Index] = []
    func end(at index: String.Index) {
        if !starts.isEmpty { runs.append(Run(script: script == .joining ? .spaced : script, edges: starts + [index])) }
        script = .joining
        starts = []
    }
    for index in text.indices {
        guard let found = Script(text[index]) else {
            end(at: index)
            continue
        }
        if found != script && found != .joining && script != .joining { end(at: index) }
        // A mark belongs to the character before it; at the start of a word, to the one behind it.
        if starts.isEmpty || (found != .joining && script != .joining) { starts.append(index) }
        if found != .joining { script = found }
    }
    end(at: text.endIndex)
    return runs
}
#endif
