import CRetvecLite
import Foundation

/// What a classifier was taught; `RetvecClassifier.memory` is one.
///
/// It holds the texts themselves, up to 256 bytes of each, so a saved memory is as private as they are.
public struct RetvecMemory: Sendable {
    let classifier: RetvecClassifier
    private var engine: OpaquePointer { classifier.engine }

    /// How many texts are taught.
    public var count: Int { classifier.locked { Int(rvl_taught(engine)) } }

    /// The taught texts, as they are kept, with their labels, in the order of teaching.
    public var texts: [(text: String, label: String)] {
        classifier.locked {
            (0..<rvl_taught(engine)).map { number -> (text: String, label: String) in
                var label: UnsafePointer<CChar>?
                let text = rvl_taught_text(engine, number, &label)
                return (text.map { String(cString: $0) } ?? "", label.map { String(cString: $0) } ?? "")
            }
        }
    }

    /// The taught labels that the classifier does not have.
    public var labels: [String] {
        texts.map(\.label).reduce(into: []) { found, label in
            if !classifier.labels.contains(label), !found.contains(label) { found.append(label) }
        }
    }

    /// Writes the memory to a file, whole or not at all, which every package of retvec-lite reads.
    public func save(to url: URL) throws {
        try change { 0 }
        let bytes = classifier.locked { saved() }
        try RetvecError.with("CANNOT_SAVE", url) { try Data(bytes).write(to: url, options: .atomic) }
    }

    /// Takes what a file holds, in place of what was taught; it may have been taught to another classifier. Throws for a file that is missing,
    /// no memory, damaged or of a newer version; then nothing changes.
    public func load(contentsOf url: URL) throws {
        let bytes = [UInt8](try RetvecError.with("CANNOT_LOAD", url) { try Data(contentsOf: url) })
        try change { rvl_memory_load(engine, bytes, bytes.count) }
    }

    /// Forgets all texts.
    public func clear() {
        classifier.locked {
            if let block = classifier.storage.block { _ = rvl_memory_open(engine, block, classifier.storage.size) }
        }
    }

    /// Changes an open memory; where it has no room, a larger one, as long as there is.
    func change(_ body: () -> Int32) throws {
        let problem = classifier.locked { () -> Int32 in
            var problem = classifier.storage.block == nil ? grow() : 0
            if problem == 0 { problem = body() }
            while problem == Int32(RVL_FULL), grow() == 0 { problem = body() }
            return problem
        }
        if problem != 0 { throw RetvecClassifier.error(problem) }
    }

    private func saved() -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: rvl_memory_save(engine, nil, 0))
        _ = rvl_memory_save(engine, &bytes, bytes.count)
        return bytes
    }

    /// Opens a larger block with the same texts; returns the problem.
    private func grow() -> Int32 {
        let (block, size, room) = classifier.storage
        let needed = rvl_memory_size(engine, 2 * room)
        if block != nil, needed <= size { return Int32(RVL_FULL) }
        let larger = UnsafeMutableRawPointer.allocate(byteCount: max(needed, 1), alignment: 64)
        let texts = saved()
        let problem = rvl_memory_open(engine, larger, needed)
        if problem != 0 {
            larger.deallocate()
            return problem
        }
        block?.deallocate()
        classifier.storage = (larger, needed, 2 * room)
        return texts.isEmpty ? 0 : rvl_memory_load(engine, texts, texts.count)
    }
}
