import CRetvecLite
import Foundation
@_exported import RetvecLiteAnswers

/// A part of a text, and how much it speaks for a label.
public struct RetvecSpan: Equatable, Sendable {
    /// Where it stands in the text as it was given.
    public let range: Range<String.Index>
    /// By how much the natural logarithm of the label's probability falls without it; below 0 where it speaks against the label.
    public let weight: Double
}

/// Classifies texts with a `.retvec` from `retvec-lite export --format engine`: raw text in, label and probabilities out.
///
///     let classifier = try RetvecClassifier(contentsOf: Bundle.main.url(forResource: "classifier-int8", withExtension: "retvec")!)
///     print(classifier.predict("where is my parcle?").label ?? "none of these")
///
/// Threads may share an instance; their calls wait for each other. It ends with its last reference.
public final class RetvecClassifier: @unchecked Sendable {  // whatever changes, changes under the lock
    /// The labels, in the order of the probabilities.
    public let labels: [String]
    /// What the file says of itself, in JSON: its name and version, how it was trained, what it scored; empty for a file without.
    public let metadata: String
    /// How many code points of a text are read, of what condensing leaves of it. Long texts are read in windows.
    public let readLimit: Int
    /// The length of the vectors from `embed`; 0 for a file that reads n-grams alone.
    public let embeddingSize: Int

    private let file: NSData
    private let copy: UnsafeMutableRawPointer?
    private let block: UnsafeMutableRawPointer
    let engine: OpaquePointer
    private let severalLabels: Bool
    private let lock = NSLock()
    /// The block of the memory, its size, and for how many texts it has room, on average; the first one has room for 64.
    var storage: (block: UnsafeMutableRawPointer?, size: Int, room: UInt32) = (nil, 0, 32)

    /// Maps a file, which must not change as long as the classifier is used.
    /// - Parameter words: how many word vectors are kept for words that come again; 384 take 300 kB.
    public convenience init(contentsOf url: URL, words: UInt32 = 384) throws {
        try self.init(file: RetvecError.with("CANNOT_LOAD", url) { try NSData(contentsOf: url, options: .alwaysMapped) }, words: words)
    }

    public convenience init(data: Data, words: UInt32 = 384) throws { try self.init(file: NSData(data: data), words: words) }

    private init(file: NSData, words: UInt32) throws {
        var copy: UnsafeMutableRawPointer?
        if UInt(bitPattern: file.bytes) % 8 != 0 || file.length == 0 {  // the engine reads aligned numbers
            copy = UnsafeMutableRawPointer.allocate(byteCount: max(file.length, 1), alignment: 64)
            copy?.copyMemory(from: file.bytes, byteCount: file.length)
        }
        let start = copy.map { UnsafeRawPointer($0) } ?? file.bytes
        var size = 0
        var problem = rvl_block_size(start, file.length, words, &size)
        let block = UnsafeMutableRawPointer.allocate(byteCount: max(size, 1), alignment: 64)
        var opened: OpaquePointer?
        if problem == 0 { problem = rvl_open(start, file.length, words, block, size, &opened) }
        guard let opened, problem == 0 else {
            copy?.deallocate()
            block.deallocate()
            throw RetvecClassifier.error(problem)
        }
        self.file = file
        self.copy = copy
        self.block = block
        engine = opened
        labels = (0..<rvl_labels(opened)).map { String(cString: rvl_label(opened, $0)) }
        var length = 0
        let said: UnsafePointer<CChar>? = rvl_metadata(opened, &length)
        metadata = said.map { String(decoding: UnsafeRawBufferPointer(start: $0, count: length), as: UTF8.self) } ?? ""
        readLimit = Int(rvl_read_limit(opened))
        embeddingSize = Int(rvl_dimension(opened))
        severalLabels = RetvecClassifier.setting(25, of: start) == 1
    }

    deinit {
        copy?.deallocate()
        block.deallocate()
        storage.block?.deallocate()
    }

    /// What was taught: `count`, `texts`, `labels`, and `save(to:)` and `load(contentsOf:)` for its file.
    public var memory: RetvecMemory { RetvecMemory(classifier: self) }

    /// Returns the label of a text and its probability. The label is nil for a text that belongs to none of them.
    /// - Parameter reject: false gives every text a label.
    public func predict(_ text: String, reject: Bool = true) -> RetvecPrediction {
        let first = reject || memory.count > 0 ? answers(to: text, most: 1).first : nil
        if let first, reject || first.taught != nil { return first }
        let values = probabilities(text)
        let best = values.indices.max { values[$0] < values[$1] } ?? 0
        return RetvecPrediction(label: reject ? nil : labels[best], probability: Double(values[best]))
    }

    /// Returns what `predict` says of each text.
    public func predictMany<Texts: Sequence>(_ texts: Texts, reject: Bool = true) -> [RetvecPrediction] where Texts.Element == String {
        texts.map { predict($0, reject: reject) }
    }

    /// Returns all labels of a text, most probable first: one or none; any number if the model was trained with several labels a text.
    public func predictAll(_ text: String) -> [RetvecPrediction] {
        answers(to: text, most: severalLabels ? labels.count : 1).filter { $0.label != nil }
    }

    /// Returns the probability of each of `labels`.
    public func probabilities(_ text: String) -> [Float] {
        var found = [Float](repeating: 0, count: labels.count)
        locked { rvl_probabilities_utf8(engine, text, text.utf8.count, &found) }
        return found
    }

    /// Tells which words of a text, of its first `readLimit` code points, speak for a label, the most probable one by default.
    public func explain(_ text: String, label: String? = nil) throws -> [RetvecSpan] {
        guard let place = label.map({ labels.firstIndex(of: $0) }) ?? -1 else {
            throw RetvecError(code: "WRONG_CALL", "\"\(label ?? "")\" is no label of this model: \(labels.joined(separator: ", ")).")
        }
        let most = min(text.unicodeScalars.count, readLimit)
        var spans = [rvl_span](repeating: rvl_span(), count: most)
        let found = locked { rvl_explain_utf8(engine, text, text.utf8.count, Int32(place), &spans, most) }
        func index(_ byte: UInt32) -> String.Index { text.utf8.index(text.startIndex, offsetBy: Int(byte)) }
        return spans.prefix(found).map { RetvecSpan(range: index($0.start)..<index($0.end), weight: $0.weight) }
    }

    /// Returns the text as a vector of norm 1 (zeros for a text without words), for search and comparison by dot product.
    public func embed(_ text: String) throws -> [Float] {
        if embeddingSize == 0 { throw RetvecError(code: "WRONG_CALL", "This model reads n-grams alone and has no embeddings.") }
        var found = [Float](repeating: 0, count: embeddingSize)
        locked { rvl_embed_utf8(engine, text, text.utf8.count, &found) }
        return found
    }

    /// Teaches that a text has a label, old or new: from now on, `predict` and `predictAll` answer it, and texts like it, with that label.
    /// All others are answered as before, to the last bit. What was taught lies in `memory`, not in the file.
    ///
    /// Throws for a text in which there is nothing to read, a label that is empty or too long, a full memory, or a file that cannot be taught:
    /// one without embeddings, or with several labels a text.
    public func teach(_ text: String, label: String) throws {
        let name = label.utf8.contains(0) ? "" : label  // C would read a part of it
        try memory.change { rvl_teach_utf8(engine, text, text.utf8.count, name) }
    }

    /// Forgets a text that was taught: everything is answered as if it had never been.
    public func forget(_ text: String) throws {
        try memory.change { rvl_forget_utf8(engine, text, text.utf8.count) }
    }

    private func answers(to text: String, most: Int) -> [RetvecPrediction] {
        var found = [rvl_answer](repeating: rvl_answer(), count: most)
        return locked { () -> [RetvecPrediction] in
            let count = rvl_classify_utf8(engine, text, text.utf8.count, &found, most)
            var label: UnsafePointer<CChar>?
            let speaker = rvl_speaker(engine)
            let taught = speaker < 0 ? nil : rvl_taught_text(engine, UInt32(speaker), &label).map { String(cString: $0) }
            return found.prefix(count).enumerated().map { place, answer -> RetvecPrediction in
                let name = answer.label < 0 ? nil : rvl_label(engine, UInt32(answer.label)).map { String(cString: $0) }
                return RetvecPrediction(label: name, probability: Double(answer.probability), taught: place == 0 ? taught : nil)
            }
        }
    }

    func locked<Result>(_ body: () -> Result) -> Result {
        lock.lock()
        defer { lock.unlock() }
        return body()
    }

    /// What the engine says is wrong.
    static func error(_ problem: Int32) -> RetvecError {
        RetvecError(code: String(cString: rvl_code(problem)), String(cString: rvl_message(problem)))
    }

    /// A number of the section `settings` of a file that the engine has checked; docs/engine.md has the format.
    private static func setting(_ place: Int, of file: UnsafeRawPointer) -> UInt32 {
        func number(_ at: Int) -> UInt32 { UInt32(littleEndian: file.load(fromByteOffset: at, as: UInt32.self)) }
        let entry = (0..<Int(number(20))).map { 64 + 16 * $0 }.first { number($0) == 1 }
        return entry.map { number(Int(number($0 + 4)) + 4 * place) } ?? 0
    }
}
