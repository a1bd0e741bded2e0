/// Puts a text into the order in which it is displayed, without what was typed and taken back: rule 0c of "Condensing" in docs/contract.md.
func displayed(_ text: [Unicode.Scalar]) -> [Unicode.Scalar] {
    guard text.contains(where: { isBackspace($0) || $0.value == rightToLeft }) else { return text }
    var line = Line()
    for scalar in text {
        if isBackspace(scalar) {
            line.takeBack()
        } else if isDirection(scalar.value) {
            line.turn(scalar.value)
        } else if kinds(of: scalar) & Tables.ignored == 0 {
            line.add(scalar)
        }
    }
    return line.all()
}

/// Whether a code point takes back the letter before it.
func isBackspace(_ scalar: Unicode.Scalar) -> Bool { scalar.value == 0x08 || scalar.value == 0x7F }

/// The code points in which something may still change.
struct Line {
    /// How many are held; of so many, the first half is passed on.
    static let size = 768
    /// The highest level: odd ones are read from right to left.
    private static let deepest = 125

    /// A code point and its level, or a boundary, where an isolate begins or ends.
    private struct Held {
        let scalar: Unicode.Scalar?
        var level: Int

        var isMark: Bool { scalar.map { kinds(of: $0) & Tables.mark != 0 } ?? true }
        var isInGap: Bool { scalar.map(isGap) ?? false }
    }

    private var done: [Unicode.Scalar] = []
    private var held: [Held] = []

    /// The levels of embeddings, overrides and isolates, and which are isolates, as the text itself is.
    private var opened = [(level: 0, isIsolate: true)]

    /// How many are open that are too deep to count.
    private var lost = 0

    /// Whether the last letter in an rightToLeft is not of a script that is written from right to left.
    private var isFromLeft = false

    private var level: Int { opened[opened.count - 1].level }

    mutating func add(_ scalar: Unicode.Scalar) {
        if scalar == "\n" || scalar == "\r" {
            opened.removeLast(opened.count - 1)
            lost = 0
        }
        guard level % 2 == 1 else { return hold(Held(scalar: scalar, level: level)) }
        if !isGap(scalar) && kinds(of: scalar) & Tables.mark == 0 {
            let isFirst = !isFromLeft
            isFromLeft = !isLeftward(scalar.value)
            // What is between letters from right to left and others stands with these.
            var at = held.count - 1
            while isFirst, isFromLeft, at >= 0, held[at].level == level + 1, held[at].isInGap {
                held[at].level = level
                at -= 1
            }
        }
        hold(Held(scalar: scalar, level: isFromLeft ? level : level + 1))
    }

    /// Leaves out the last letter with its marks.
    mutating func takeBack() {
        while let last = held.popLast(), last.isMark {}
    }

    /// Begins or ends an embedding, an rightToLeft or an isolate.
    mutating func turn(_ control: UInt32) {
        let ends = control == end || control == endOfIsolate
        let inside = control == rightToLeft ? (level + 1) | 1 : (level + 2) & ~1
        isFromLeft = false
        if lost > 0 || (!ends && inside > Self.deepest) {
            lost += ends ? -1 : 1
        } else if control == end {
            if !opened[opened.count - 1].isIsolate { opened.removeLast() }
        } else if control == endOfIsolate {
            guard let isolate = opened.lastIndex(where: { $0.isIsolate }), isolate > 0 else { return }
            opened.removeLast(opened.count - isolate)
            addBoundary()
        } else {
            if control >= firstIsolate { addBoundary() }
            opened.append((inside, control >= firstIsolate))
        }
    }

    /// Returns the whole text.
    mutating func all() -> [Unicode.Scalar] {
        passOn(held.count)
        return done
    }

    /// Adds a boundary; of boundaries in a row, the lowest counts.
    private mutating func addBoundary() {
        if let last = held.last, last.scalar == nil {
            held[held.count - 1].level = min(last.level, level)
        } else {
            hold(Held(scalar: nil, level: level))
        }
    }

    private mutating func hold(_ item: Held) {
        held.append(item)
        if held.count == Self.size { passOn(Self.size / 2) }
    }

    private mutating func passOn(_ count: Int) {
        done += Self.inOrder(held.prefix(count)).compactMap(\.scalar)
        held.removeFirst(count)
    }

    /// From the highest level down, what is not below it is reversed.
    private static func inOrder(_ some: ArraySlice<Held>) -> [Held] {
        var items = Array(some)
        var start = 0
        while start < items.count {
            var end = start + 1
            while end < items.count, items[end].level == items[start].level, items[end].isMark { end += 1 }
            // Marks stay behind their letter.
            if items[start].level % 2 == 1 { items[start..<end].reverse() }
            start = end
        }
        for level in stride(from: items.map(\.level).max() ?? 0, to: 0, by: -1) {
            start = 0
            while start < items.count {
                var end = start
                while end < items.count, items[end].level >= level { end += 1 }
                items[start..<end].reverse()
                start = end + 1
            }
        }
        return items
    }
}

private func isDirection(_ value: UInt32) -> Bool {
    (0x202A...rightToLeft).contains(value) || (firstIsolate...endOfIsolate).contains(value)
}

private func isLeftward(_ value: UInt32) -> Bool {
    stride(from: 0, to: leftwardEdges.count, by: 2).contains { value >= leftwardEdges[$0] && value <= leftwardEdges[$0 + 1] }
}

private let leftwardEdges = numbers(Tables.leftward)
private let rightToLeft: UInt32 = 0x202E
private let end: UInt32 = 0x202C
private let firstIsolate: UInt32 = 0x2066
private let endOfIsolate: UInt32 = 0x2069
