import CRetvecLite
import Foundation

/// Reads a text as the inputs of a model: "Long texts" in docs/contract.md. A text of more than `maxChars` code points is cut into
/// windows that end at words, and their answers are combined.
struct Windows {
    /// How many code points the model takes at once.
    let maxChars: Int

    /// A composed character has at most so many code points in decomposed form.
    private static let mostDecomposed = 4

    /// How many code points of a text are read at most.
    var limit: Int { max(Self.mostDecomposed * maxChars, min(32 * maxChars, 16_384)) }

    /// Returns what is read of a text, condensed.
    func read(_ text: String) -> [Unicode.Scalar] {
        var codes = [UInt32](repeating: 0, count: limit)
        let count = crl_condense_utf8(text, text.utf8.count, &codes, limit)
        return codes.prefix(count).compactMap { Unicode.Scalar($0) }
    }

    /// Returns the code points of each window of what is read; one for a text that fits.
    func cut(_ read: [Unicode.Scalar]) -> [ArraySlice<Unicode.Scalar>] {
        var rest = read[...]
        if rest.count <= maxChars { return [rest] }
        while let last = rest.last, isSeparator(last) { rest.removeLast() }
        var windows: [ArraySlice<Unicode.Scalar>] = []
        repeat {
            rest = rest.drop(while: isSeparator)
            let length = rest.count <= maxChars ? rest.count : windowLength(rest)
            windows.append(rest.prefix(length))
            rest = rest.dropFirst(length)
        } while !rest.isEmpty
        return windows
    }

    /// Returns how many code points the first window takes of a text that is longer than one.
    private func windowLength(_ rest: ArraySlice<Unicode.Scalar>) -> Int {
        let parts = (rest.count + maxChars - 1) / maxChars
        let length = (rest.count + parts - 1) / parts
        func scalar(_ count: Int) -> Unicode.Scalar { rest[rest.startIndex + count] }
        let tried = Array(length...maxChars) + Array(stride(from: length - 1, through: (maxChars + 1) / 2, by: -1))
        let ends = tried.filter { isSeparator(scalar($0)) }
        let sentences: Set<Unicode.Scalar> = [".", "!", "?"]
        return ends.first { sentences.contains(scalar($0 - 1)) } ?? ends.first ?? length
    }

    /// Returns the probabilities of a text from those of its windows. The windows count most that say what few texts say: `shares` are
    /// how common the labels are. Where a text may have `several` labels, it has those of any window. `unknown` is never the best label.
    static func combine(
        _ windows: [[String: Double]], unknown: String?, several: Bool, shares: [String: Double]
    ) -> [String: Double] {
        guard windows.count > 1 else { return windows.first ?? [:] }
        if several {
            return windows.reduce(into: [:]) { found, window in found.merge(window) { max($0, $1) } }
        }
        var sums: [String: Double] = [:]
        var total = 0.0
        for window in windows {
            var said = 0.0
            for (label, probability) in window where label != unknown {
                // A probability may be rounded to 0.
                let value = max(probability, Double(Float.leastNormalMagnitude))
                said += value * log(value / (shares[label] ?? 1))
            }
            let weight = exp(2 * said)
            total += weight
            for (label, value) in window { sums[label, default: 0] += weight * value }
        }
        return sums.mapValues { $0 / total }
    }
}

/// Whether a code point divides words.
private func isSeparator(_ scalar: Unicode.Scalar) -> Bool { crl_is_separator(scalar.value) != 0 }
