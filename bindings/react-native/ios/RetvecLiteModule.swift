import Foundation
import React
import RetvecLite

/// What src/index.ts calls, in a queue of its own.
@objc(RetvecLite)
final class RetvecLiteModule: NSObject {
    typealias Resolve = RCTPromiseResolveBlock
    typealias Reject = RCTPromiseRejectBlock

    private let queue = DispatchQueue(label: "retvec-lite")
    private var opened: [Int: RetvecClassifier] = [:]
    private var next = 0

    @objc static func requiresMainQueueSetup() -> Bool { false }

    @objc func open(_ path: String, resolve: @escaping Resolve, reject: @escaping Reject) {
        answer(resolve, reject) {
            let classifier = try RetvecClassifier(contentsOf: URL(fileURLWithPath: path))
            self.next += 1
            self.opened[self.next] = classifier
            return ["id": self.next, "labels": classifier.labels, "metadata": classifier.metadata]
        }
    }

    @objc func predict(_ id: Int, texts: [String], resolve: @escaping Resolve, reject: @escaping Reject) {
        answer(resolve, reject) { try self.classifier(id).predictMany(texts).map(self.shown) }
    }

    @objc func predictAll(_ id: Int, text: String, resolve: @escaping Resolve, reject: @escaping Reject) {
        answer(resolve, reject) { try self.classifier(id).predictAll(text).map(self.shown) }
    }

    @objc func probabilities(_ id: Int, text: String, resolve: @escaping Resolve, reject: @escaping Reject) {
        answer(resolve, reject) { try self.classifier(id).probabilities(text) }
    }

    @objc func explain(_ id: Int, text: String, label: String?, resolve: @escaping Resolve, reject: @escaping Reject) {
        answer(resolve, reject) {
            try self.classifier(id).explain(text, label: label).map { span in
                let start = text.utf16.distance(from: text.startIndex, to: span.range.lowerBound)
                let end = text.utf16.distance(from: text.startIndex, to: span.range.upperBound)
                return ["start": start, "end": end, "weight": span.weight]
            }
        }
    }

    @objc func embed(_ id: Int, text: String, resolve: @escaping Resolve, reject: @escaping Reject) {
        answer(resolve, reject) { try self.classifier(id).embed(text) }
    }

    @objc func teach(_ id: Int, text: String, label: String, resolve: @escaping Resolve, reject: @escaping Reject) {
        done(resolve, reject) { try self.classifier(id).teach(text, label: label) }
    }

    @objc func forget(_ id: Int, text: String, resolve: @escaping Resolve, reject: @escaping Reject) {
        done(resolve, reject) { try self.classifier(id).forget(text) }
    }

    @objc func memoryTexts(_ id: Int, resolve: @escaping Resolve, reject: @escaping Reject) {
        answer(resolve, reject) { try self.classifier(id).memory.texts.map { [$0.text, $0.label] } }
    }

    @objc func memorySave(_ id: Int, path: String, resolve: @escaping Resolve, reject: @escaping Reject) {
        done(resolve, reject) { try self.classifier(id).memory.save(to: URL(fileURLWithPath: path)) }
    }

    @objc func memoryLoad(_ id: Int, path: String, resolve: @escaping Resolve, reject: @escaping Reject) {
        done(resolve, reject) { try self.classifier(id).memory.load(contentsOf: URL(fileURLWithPath: path)) }
    }

    @objc func memoryClear(_ id: Int, resolve: @escaping Resolve, reject: @escaping Reject) {
        done(resolve, reject) { try self.classifier(id).memory.clear() }
    }

    @objc func close(_ id: Int, resolve: @escaping Resolve, reject: @escaping Reject) {
        done(resolve, reject) { self.opened[id] = nil }
    }

    private func classifier(_ id: Int) throws -> RetvecClassifier {
        guard let found = opened[id] else { throw NSError(domain: "CLOSED", code: 0, userInfo: [NSLocalizedDescriptionKey: "The classifier is closed."]) }
        return found
    }

    private func shown(_ one: RetvecPrediction) -> [String: Any] {
        ["label": one.label ?? NSNull(), "probability": one.probability, "taught": one.taught ?? NSNull()]
    }

    private func done(_ resolve: @escaping Resolve, _ reject: @escaping Reject, body: @escaping () throws -> Void) {
        answer(resolve, reject) { try body(); return NSNull() }
    }

    private func answer(_ resolve: @escaping Resolve, _ reject: @escaping Reject, body: @escaping () throws -> Any) {
        queue.async {
            do {
                resolve(try body())
            } catch {
                reject((error as? RetvecError)?.code ?? (error as NSError).domain, error.localizedDescription, error)
            }
        }
    }
}
