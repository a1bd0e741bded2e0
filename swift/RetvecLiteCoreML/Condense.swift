import Foundation

/// What a person sees of a text: "Condensing" in docs/contract.md, rule by rule.
struct Condensed {
    /// What is left of the text.
    private(set) var points: [Unicode.Scalar] = []

    /// How many of each sign of emphasis opened last, none if they have closed.
    private var opened: [Unicode.Scalar: Int] = [:]

    /// How many code points markup takes, and what stands for it.
    private struct Markup {
        let taken: Int
        let shown: Unicode.Scalar?
    }

    private static let mostGiven = 1 << 19
    private static let mostPeeked = 256
    /// More than the code points that those ahead of them may change: markup, a line that is held, and composing makes three of one at most.
    private static let spare = 4 * mostPeeked + Line.size
    private static let mostSigns = 3

    init(_ text: String, limit: Int) {
        // What is read comes from the start of most texts; a longer start changes nothing but its last code points.
        var most = limit + 2 * Self.spare
        while true {
            let asked = min(most, Self.mostGiven)
            points = Array(text.unicodeScalars.prefix(asked))
            let isAll = points.count < asked || asked == Self.mostGiven
            readMarkup()
            compose()
            points = displayed(points)
            dropMarks()
            dropSigns()
            dropRepeats()
            if isAll || points.count >= limit + Self.spare { break }
            most *= 4
        }
        points = Array(points.prefix(limit))
        joinLetters()
        narrowGaps()
    }

    /// Rule 0a.
    private mutating func readMarkup() {
        opened = [:]
        var read: [Unicode.Scalar] = []
        read.reserveCapacity(points.count)
        var at = 0
        while at < points.count {
            if let found = markup(at) {
                if let shown = found.shown { read.append(shown) }
                at += found.taken
            } else {
                read.append(points[at])
                at += 1
            }
        }
        points = read
    }

    private mutating func markup(_ at: Int) -> Markup? {
        switch points[at] {
        case "%": return percentEncoded(at)
        case "\\": return escape(at)
        case "0"..."9": return longNumber(at)
        case "<": return tag(at)
        case "&": return entity(at)
        case "[", "]": return link(at)
        case "*", "_", "`", "~": return emphasis(at)
        default: return nil
        }
    }

    private func percentEncoded(_ at: Int) -> Markup? {
        guard let first = byte(at) else { return nil }
        let size: Int
        switch first {
        case 0x09, 0x0A, 0x0D, 0x20...0x7F: return Markup(taken: 3, shown: Unicode.Scalar(first))
        case 0xC2...0xDF: size = 2
        case 0xE0...0xEF: size = 3
        case 0xF0...0xF4: size = 4
        default: return nil
        }
        var value = first & (0x7F >> UInt32(size))
        for place in 1..<size {
            guard let next = byte(at + 3 * place), (0x80...0xBF).contains(next) else { return nil }
            value = value << 6 | next & 0x3F
        }
        let isShortest = size == 2 || value >= 1 << UInt32(5 * size - 4)
        guard isShortest, let shown = Unicode.Scalar(value) else { return nil }
        return Markup(taken: 3 * size, shown: shown)
    }

    private func byte(_ at: Int) -> UInt32? { peek(at) == "%" ? hex(at + 1, digits: 2) : nil }

    private func escape(_ at: Int) -> Markup? {
        guard let first = unit(at) else { return nil }
        if (0xD800...0xDBFF).contains(first), let second = unit(at + 6), (0xDC00...0xDFFF).contains(second) {
            return Markup(taken: 12, shown: Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00)))
        }
        return Unicode.Scalar(first).map { Markup(taken: 6, shown: $0) }
    }

    private func unit(_ at: Int) -> UInt32? { isAt(at, "\\u") ? hex(at + 2, digits: 4) : nil }

    private func longNumber(_ at: Int) -> Markup? {
        if at > 0, isDigit(points[at - 1]) { return nil }
        let end = behind(at, most: points.count, isDigit)
        return end - at > 16 ? Markup(taken: end - at, shown: " ") : nil
    }

    private func tag(_ at: Int) -> Markup? {
        let end = behind(at + 1) { $0 != "<" && $0 != ">" }
        guard peek(end) == ">", end > at + 1 else { return nil }
        let taken = end + 1 - at
        if taken >= "<!---->".count, isAt(at, "<!--"), isAt(end - 2, "-->") { return Markup(taken: taken, shown: nil) }
        let start = peek(at + 1) == "/" ? at + 2 : at + 1
        let nameEnd = behind(start) { isLetter($0) || isDigit($0) }
        guard (1...16).contains(nameEnd - start), isLetter(points[start]) else { return nil }
        let rest = points[nameEnd..<end]
        let isEmpty = rest.allSatisfy { isSeparator($0) || $0 == "/" }
        let isBehindName = rest.first.map { isSeparator($0) || $0 == "/" } ?? false
        guard isEmpty || (isBehindName && rest.contains("=")) else { return nil }
        return Markup(taken: taken, shown: tags.contains(string(start, nameEnd).lowercased()) ? nil : " ")
    }

    private func entity(_ at: Int) -> Markup? {
        let isNumber = peek(at + 1) == "#"
        let isHex = isNumber && (peek(at + 2) == "x" || peek(at + 2) == "X")
        let start = isHex ? at + 3 : isNumber ? at + 2 : at + 1
        let end = behind(start, most: isNumber && !isHex ? 7 : 6) { scalar in
            isHex ? hexDigit(scalar) != nil : isNumber ? isDigit(scalar) : isLetter(scalar)
        }
        guard end > start, peek(end) == ";" else { return nil }
        let name = string(start, end)
        let value = isNumber ? UInt32(name, radix: isHex ? 16 : 10) : entities[name]
        guard let value, value != 0, let shown = Unicode.Scalar(value) else { return nil }
        return Markup(taken: end + 1 - at, shown: shown)
    }

    private func link(_ at: Int) -> Markup? {
        if points[at] == "[" {
            let end = behind(at + 1) { $0 != "[" && $0 != "]" }
            return end > at + 1 && isAt(end, "](") ? Markup(taken: 1, shown: nil) : nil
        }
        guard peek(at + 1) == "(" else { return nil }
        let end = behind(at + 2) { $0 != "(" && $0 != ")" && !isSeparator($0) }
        return end > at + 2 && peek(end) == ")" ? Markup(taken: end + 1 - at, shown: nil) : nil
    }

    private mutating func emphasis(_ at: Int) -> Markup? {
        let sign = points[at]
        let end = behind(at, most: 4) { $0 == sign }
        let size = end - at
        if size > 3 || (sign == "~" && size != 2) { return nil }
        let next = peek(end)
        if at == 0 || isSeparator(points[at - 1]) || isOne(of: "([{\"'", points[at - 1]) {
            guard let next, !isGap(next), !isTakenBack(end) else { return nil }
            opened[sign] = size
            return Markup(taken: size, shown: nil)
        }
        if isOne(of: "*_~`", points[at - 1]) { return nil }
        if let next, !isSeparator(next), !isOne(of: ".,;:!?)]}\"'", next) { return nil }
        let isSame = opened.removeValue(forKey: sign) == size
        return isSame ? Markup(taken: size, shown: nil) : nil
    }

    /// Whether there is a backspace in a word.
    private func isTakenBack(_ at: Int) -> Bool {
        let end = behind(at) { !isSeparator($0) && !isBackspace($0) }
        return end < at + Self.mostPeeked && (peek(end).map(isBackspace) ?? false)
    }

    /// Rule 0b.
    private mutating func compose() {
        var row = 0
        points = points.filter { scalar in
            row = kinds(of: scalar) & Tables.piled != 0 ? row + 1 : 0
            return row <= 8
        }
        guard points.contains(where: { $0.value >= 0x300 }) else { return }
        points = Array(string(0, points.count).precomposedStringWithCanonicalMapping.unicodeScalars)
    }

    /// Rule 0d, and what is invisible.
    private mutating func dropMarks() {
        var letter: Unicode.Scalar?
        var marks = 0
        points = points.filter { scalar in
            if kinds(of: scalar) & Tables.ignored != 0 { return false }
            if kinds(of: scalar) & Tables.mark == 0 {
                letter = scalar
                marks = 0
                return true
            }
            guard let letter, isOfOneScript(letter.value, scalar.value) else { return false }
            marks += 1
            return marks <= 5
        }
    }

    /// Rule 0e, as far as signs go.
    private mutating func dropSigns() {
        var left: [Unicode.Scalar] = []
        var at = 0
        while at < points.count {
            let end = behind(at, most: points.count, isGap)
            // A gap without its separators: its rows of signs.
            let rows = points[at..<end].split(whereSeparator: isSeparator).count
            var row = 0
            while at < end {
                let next = behind(at, most: end - at, isSign)
                if next == at {
                    left.append(points[at])
                    at += 1
                    continue
                }
                row += 1
                if row == 1 || rows <= Self.mostSigns {
                    left += points[at..<(next - at > Self.mostSigns ? at + 1 : next)]
                }
                at = next
            }
            if at < points.count {
                left.append(points[at])
                at += 1
            }
        }
        points = left
    }

    /// Rule 0e, as far as repeats go.
    private mutating func dropRepeats() {
        var last: Unicode.Scalar?
        var lastButOne: Unicode.Scalar?
        var separators = 0
        points = points.filter { scalar in
            separators = isSeparator(scalar) ? separators + 1 : 0
            let isRepeat = separators == 0 && last == scalar && lastButOne == scalar
            lastButOne = last
            last = scalar
            return !isRepeat && separators <= 3
        }
    }

    /// Rule 0f, as far as spread words go.
    private mutating func joinLetters() {
        var joined: [Unicode.Scalar] = []
        var at = 0
        while at < points.count {
            if isSingle(at) {
                at = join(from: at, into: &joined)
            } else {
                joined.append(points[at])
                at += 1
            }
        }
        points = joined
    }

    /// Reads the singles in a row from one on, joins them if they are a spread word, and returns where they end.
    private func join(from start: Int, into joined: inout [Unicode.Scalar]) -> Int {
        var gaps: [Range<Int>] = []
        var end = start + 1
        while true {
            let next = behind(end, most: points.count, isGap)
            guard next < points.count, isSingle(next) else { break }
            gaps.append(end..<next)
            end = next + 1
        }
        let singles = [start] + gaps.map { $0.upperBound }
        let letters = singles.filter { points[$0].properties.generalCategory != .decimalNumber }
        // A gap's kind: how many code points it has, and whether there is a sign among them.
        let shapes = gaps.map { 2 * $0.count + (points[$0].contains(where: isSign) ? 1 : 0) }
        let counts = Dictionary(shapes.map { ($0, 1) }, uniquingKeysWith: +)
        let most = counts.values.max() ?? 0
        guard letters.count > Self.mostSigns, most >= 3, let commonest = shapes.first(where: { counts[$0] == most }) else {
            joined += points[start..<end]
            return end
        }
        joined.append(letter(points[start]))
        for (gap, shape) in zip(gaps, shapes) {
            if shape != commonest { joined.append(" ") }
            joined.append(letter(points[gap.upperBound]))
        }
        return end
    }

    /// Rule 0f, as far as separators go.
    private mutating func narrowGaps() {
        var isBehindOne = true
        points = points.filter { scalar in
            defer { isBehindOne = isSeparator(scalar) }
            return !(isBehindOne && isSeparator(scalar))
        }
        if let last = points.last, isSeparator(last) { points.removeLast() }
    }

    private func peek(_ at: Int) -> Unicode.Scalar? { at < points.count ? points[at] : nil }

    private func isAt(_ at: Int, _ what: String) -> Bool {
        points[min(at, points.count)...].starts(with: what.unicodeScalars)
    }

    private func string(_ start: Int, _ end: Int) -> String {
        String(String.UnicodeScalarView(points[start..<end]))
    }

    /// Returns where a run of code points ends for which a condition holds, of so many at most.
    private func behind(_ start: Int, most: Int = Condensed.mostPeeked, _ holds: (Unicode.Scalar) -> Bool) -> Int {
        var at = start
        while at < points.count, at - start < most, holds(points[at]) { at += 1 }
        return at
    }

    /// Returns the number that hexadecimal digits at a place stand for, nil if there are fewer.
    private func hex(_ at: Int, digits: Int) -> UInt32? {
        var number: UInt32 = 0
        for place in at..<at + digits {
            guard let digit = peek(place).flatMap(hexDigit) else { return nil }
            number = number << 4 | digit
        }
        return number
    }

    private func isSingle(_ at: Int) -> Bool {
        let value = points[at].value
        return (value < 0x1100 || (0x1E00...0x1FFF).contains(value) || regional.contains(value)) && kinds(of: points[at]) & Tables.mark == 0
            && !isGap(points[at]) && (at == 0 || isGap(points[at - 1])) && (peek(at + 1).map(isGap) ?? true)
    }
}

/// Returns what the contract says about a code point, such as `Tables.separator`.
func kinds(of scalar: Unicode.Scalar) -> UInt32 {
    if scalar.value < 0x80 { return ascii[Int(scalar.value)] }
    // The last change at the code point or before it.
    var low = 0
    var high = changes.count
    while high - low > 1 {
        let middle = (low + high) / 2
        if changes[middle] >> 8 <= scalar.value { low = middle } else { high = middle }
    }
    return changes[low] & 0xFF
}

/// Whether words end here: at the padding, and at what has the property White_Space, as the contract says.
func isSeparator(_ scalar: Unicode.Scalar) -> Bool { kinds(of: scalar) & Tables.separator != 0 }

/// Returns the letter that a regional indicator stands for, or what else it is.
private func letter(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
    regional.contains(scalar.value) ? Unicode.Scalar(UInt8(scalar.value - regional.lowerBound + 0x41)) : scalar
}

private func isSign(_ scalar: Unicode.Scalar) -> Bool { kinds(of: scalar) & Tables.sign != 0 }

func isGap(_ scalar: Unicode.Scalar) -> Bool { kinds(of: scalar) & (Tables.separator | Tables.sign) != 0 }

private func isOfOneScript(_ letter: UInt32, _ mark: UInt32) -> Bool {
    letter >> 7 == mark >> 7 || stride(from: 0, to: scriptEdges.count, by: 2).contains {
        min(letter, mark) >= scriptEdges[$0] && max(letter, mark) <= scriptEdges[$0 + 1]
    }
}

private func isDigit(_ scalar: Unicode.Scalar) -> Bool { (0x30...0x39).contains(scalar.value) }

private func isLetter(_ scalar: Unicode.Scalar) -> Bool { (0x61...0x7A).contains(scalar.value | 0x20) }

private func hexDigit(_ scalar: Unicode.Scalar) -> UInt32? {
    if isDigit(scalar) { return scalar.value - 0x30 }
    return (0x61...0x66).contains(scalar.value | 0x20) ? (scalar.value | 0x20) - 0x57 : nil
}

private func isOne(of signs: String, _ scalar: Unicode.Scalar) -> Bool { signs.unicodeScalars.contains(scalar) }

func numbers(_ listed: String) -> [UInt32] { listed.split(separator: " ").compactMap { UInt32($0, radix: 16) } }

private let regional: ClosedRange<UInt32> = 0x1F1E6...0x1F1FF
private let changes = numbers(Tables.kinds)
private let ascii = (0..<0x80).map { code in (changes.last(where: { $0 >> 8 <= UInt32(code) }) ?? 0) & 0xFF }
private let scriptEdges = numbers(Tables.scripts)
private let tags = Set(Tables.inline.components(separatedBy: " "))
private let entities: [String: UInt32] = {
    let words = Tables.entities.components(separatedBy: " ")
    return Dictionary(uniqueKeysWithValues: stride(from: 0, to: words.count, by: 2).compactMap { place in
        UInt32(words[place + 1], radix: 16).map { (words[place], $0) }
    })
}()
