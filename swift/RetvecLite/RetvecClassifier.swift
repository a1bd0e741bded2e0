import CRetvecLite
import Foundation

/// Why a file cannot be opened, as a sentence.
public struct RetvecError: LocalizedError {
    public let errorDescription: String?
}

/// A part of a text, and how much it speaks for a label.
public struct RetvecSpan {
    /// Where it stands in the text; for files that follow version 1 or 2 of the contract, in `text.precomposedStringWithCanonicalMapping`.
    public let range: Range<String.Index>
    /// By how much the natural logarithm of the label's probability falls without it; below 0 where it speaks against the label.
    public let weight: Double
}

/// Classifies texts with a `.retvec` from `retvec-lite export --format engine`: raw text in, label and probabilities out.
///
///     let classifier = try RetvecClassifier(contentsOf: Bundle.main.url(forResource: "classifier-int8", withExtension: "retvec")!)
///     print(classifier.classify("where is my parcle?").label ?? "none of these")
///
/// Threads may share an instance; their calls wait for each other.
public final class RetvecClassifier {
    /// The labels, in the order in which the file was trained.
    public let labels: [String]
    /// How many code points of a text are read; of what condensing leaves of it, from version 3 of the contract on. Long texts are read in windows.
    public let readLimit: Int
    /// The length of the vectors from `embed`; 0 for a file that reads n-grams alone.
    public let embeddingSize: Int

    private let file: UnsafeMutableRawPointer
    private let block: UnsafeMutableRawPointer
    let engine: OpaquePointer
    private let severalLabels: Bool
    private let contract: UInt32
    private let lock = NSLock()
    /// The block of the memory, its size, and for how many texts it has room, on average; the first one has room for 64.
    var storage: (block: UnsafeMutableRawPointer?, size: Int, room: UInt32) = (nil, 0, 32)

    /// - Parameter words: how many word vectors are kept for words that come again; 384 take 300 kB.
    public convenience init(contentsOf url: URL, words: UInt32 = 384) throws {
        try self.init(data: Data(contentsOf: url), words: words)
    }

    public init(data: Data, words: UInt32 = 384) throws {
        let file = UnsafeMutableRawPointer.allocate(byteCount: max(data.count, 1), alignment: 64)
        data.withUnsafeBytes { bytes in
            if let start = bytes.baseAddress { file.copyMemory(from: start, byteCount: bytes.count) }
        }
        var size = 0
        var problem = rvl_block_size(file, data.count, words, &size)
        let block = UnsafeMutableRawPointer.allocate(byteCount: max(size, 1), alignment: 64)
        var opened: OpaquePointer?
        if problem == 0 { problem = rvl_open(file, data.count, words, block, size, &opened) }
        guard let opened, problem == 0 else {
            file.deallocate()
            block.deallocate()
            throw RetvecError(errorDescription: String(cString: rvl_message(problem)))
        }
        self.file = file
        self.block = block
        engine = opened
        labels = (0..<rvl_labels(opened)).map { String(cString: rvl_label(opened, $0)) }
        readLimit = Int(rvl_read_limit(opened))
        embeddingSize = Int(rvl_dimension(opened))
        let settings = Self.settings(of: file)
        contract = settings(0)
        severalLabels = settings(25) == 1
    }

    deinit {
        file.deallocate()
        block.deallocate()
        storage.block?.deallocate()
    }

    /// What was taught: `count`, `texts`, `labels`, and `save(to:)` and `load(contentsOf:)` for its file.
    public var memory: RetvecMemory { RetvecMemory(classifier: self) }

    /// Returns the label of a text and its probability, and the probability of every label.
    ///
    /// The label is nil for a text that belongs to none of them, with the probability of the most probable one.
    /// - Parameter reject: false gives every text a label.
    public func classify(
        _ text: String, reject: Bool = true
    ) -> (label: String?, probability: Double, probabilities: [String: Double]) {
        let values = probabilities(of: text)
        let all = Dictionary(zip(labels, values.map(Double.init)), uniquingKeysWith: max)  // Swift takes é for e + accent
        if reject || memory.count > 0, let first = answers(to: text, most: 1).first, reject || (first.taught != nil && first.label != nil) {
            return (first.label, first.probability, all)
        }
        let best = values.indices.max { values[$0] < values[$1] } ?? 0
        return (reject ? nil : labels[best], Double(values[best]), all)
    }

    /// Returns all labels of a text with their probabilities, most probable first: one or none; any number if the model was trained
    /// with several labels a text.
    public func classifyAll(_ text: String) -> [(label: String, probability: Double)] {
        answers(to: text, most: severalLabels ? labels.count : 1).compactMap { answer in
            answer.label.map { (label: $0, probability: answer.probability) }
        }
    }

    /// Teaches that a text has a label, old or new: from now on, `classify` and `classifyAll` answer it, and texts like it, with that label.
    /// All others are answered as before, to the last bit. What was taught lies in `memory`, not in the file.
    ///
    /// Throws for a text in which there is nothing to read, a label that is empty or too long, a full memory, or a file that cannot be taught:
    /// one without embeddings, or with several labels a text.
    public func teach(_ text: String, label: String) throws {
        let codes = self.codes(of: text)
        let name = label.utf8.contains(0) ? "" : label  // C would read a part of it
        try memory.change { rvl_teach(engine, codes, codes.count, name) }
    }

    /// Forgets a text that was taught: everything is answered as if it had never been.
    public func forget(_ text: String) throws {
        let codes = self.codes(of: text)
        try memory.change { rvl_forget(engine, codes, codes.count) }
    }

    /// Returns the taught text by which the memory answers a text; nil where the model does.
    public func taught(for text: String) -> String? { answers(to: text, most: 1).first?.taught }

    /// Tells which words of a text, of its first `readLimit` code points, speak for a label, the most probable one by default; empty for an
    /// unknown label.
    public func explain(_ text: String, label: String? = nil) -> [RetvecSpan] {
        guard let place = label.map({ labels.firstIndex(of: $0) }) ?? -1 else { return [] }
        let read = given(text, most: readLimit)
        let scalars = Array(read.unicodeScalars)
        var spans = [rvl_span](repeating: rvl_span(), count: scalars.count)
        let found = locked { rvl_explain(engine, scalars.map(\.value), scalars.count, Int32(place), &spans, scalars.count) }
        let places = Array(read.unicodeScalars.indices) + [read.endIndex]
        return spans.prefix(found).map { RetvecSpan(range: places[Int($0.start)]..<places[Int($0.end)], weight: $0.weight) }
    }

    /// Returns the text as a vector of norm 1 (zeros for a text without words), for search and comparison by dot product.
    public func embed(_ text: String) -> [Float] {
        let codes = self.codes(of: text)
        var found = [Float](repeating: 0, count: embeddingSize)
        locked { rvl_embed(engine, codes, codes.count, &found) }
        return found
    }

    private func probabilities(of text: String) -> [Float] {
        let codes = self.codes(of: text)
        var found = [Float](repeating: 0, count: labels.count)
        locked { rvl_probabilities(engine, codes, codes.count, &found) }
        return found
    }

    private typealias Answer = (label: String?, probability: Double, taught: String?)

    private func answers(to text: String, most: Int) -> [Answer] {
        let codes = self.codes(of: text)
        var found = [rvl_answer](repeating: rvl_answer(), count: most)
        return locked { () -> [Answer] in
            let count = rvl_classify(engine, codes, codes.count, &found, most)
            var label: UnsafePointer<CChar>?
            let speaker = rvl_speaker(engine)
            let taught = speaker < 0 ? nil : rvl_taught_text(engine, UInt32(speaker), &label).map { String(cString: $0) }
            return found.prefix(count).enumerated().map { place, answer -> Answer in
                let name = answer.label < 0 ? nil : rvl_label(engine, UInt32(answer.label)).map { String(cString: $0) }
                return (name, Double(answer.probability), place == 0 ? taught : nil)
            }
        }
    }

    func codes(of text: String) -> [UInt32] { given(text, most: 1 << 19).unicodeScalars.map(\.value) }

    /// The text as the engine takes it: of up to `most` code points, of which the engine looks at 2^19; under earlier versions of the contract
    /// composed, as far as it is read. A composed character has at most four code points in decomposed form.
    private func given(_ text: String, most: Int) -> String {
        let limit = contract > 2 ? most : contract == 2 ? readLimit : 4 * readLimit
        let given = String(String.UnicodeScalarView(text.unicodeScalars.prefix(limit)))
        return contract > 2 ? given : given.precomposedStringWithCanonicalMapping
    }

    func locked<Result>(_ body: () -> Result) -> Result {
        lock.lock()
        defer { lock.unlock() }
        return body()
    }

    /// The numbers of the section `settings` of a file that the engine has checked; docs/engine.md has the format.
    private static func settings(of file: UnsafeRawPointer) -> (Int) -> UInt32 {
        func number(_ at: Int) -> UInt32 { UInt32(littleEndian: file.load(fromByteOffset: at, as: UInt32.self)) }
        let entries = (0..<Int(number(20))).map { 64 + 16 * $0 }
        let start = entries.first { number($0) == 1 }.map { Int(number($0 + 4)) } ?? 0
        return { number(start + 4 * $0) }
    }
}
