#if canImport(CryptoKit)
import CryptoKit
import Foundation
import RetvecLiteAnswers

/// An update that was downloaded: `init` checks signature, name and version, `check` the bytes of a file, and `tryTexts` its answers. Only
/// then may the file take the place of the installed one. docs/updates.md has the whole recipe, and says what the codes of its errors mean.
@available(iOS 13, macOS 10.15, tvOS 13, watchOS 6, *)
public struct RetvecUpdate: Sendable {
    /// What `manifest.json` holds; there is more in it, such as the figures of the training.
    private struct Manifest: Decodable {
        struct File: Decodable {
            let file: String
            let bytes: Int
            let sha256: String
        }
        struct Text: Decodable {
            let text: String
            let labels: [String]
        }

        let name: String?
        let version: Int?
        let labels: [String]
        let texts: [Text]
        let files: [File]
    }

    /// What is read before the rest, which a newer release may have changed.
    private struct Kind: Decodable {
        let format: String
        let manifestVersion: Int
        let contractVersion: Int

        enum CodingKeys: String, CodingKey {
            case format
            case manifestVersion = "manifest_version"
            case contractVersion = "contract_version"
        }
    }

    public let name: String
    public let version: Int
    /// The labels, in the order in which the model was trained.
    public let labels: [String]
    /// Golden texts, and the labels that every file gives them.
    public let texts: [(text: String, labels: [String])]
    private let listed: [Manifest.File]

    /// How many bytes each file has, by its name: download no more.
    public var files: [String: Int] { Dictionary(listed.map { ($0.file, $0.bytes) }, uniquingKeysWith: { first, _ in first }) }

    /// The version of the contract that this package reads.
    private static let ownContract = 3

    /// Public keys for which anybody can sign, such as one of zeros: retvec_lite/signing.py says which.
    private static let lowOrder =
        "^(0[01](00){30}[08]0|26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc[08]5"
        + "|c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03[7f]a|(e[c-f]|f.)(ff){30}[7f]f)$"

    /// Checks the signature, then the name and version that were signed. Nothing is read of what is not signed.
    ///
    /// - Parameters:
    ///   - manifest: the exact bytes of `manifest.json`.
    ///   - signature: those of `manifest.json.sig`.
    ///   - key: the public key that the app was built with, 64 hexadecimal digits; of several with spaces between them, any may have signed.
    ///   - name: of the model: no other model of the same key can take its place.
    ///   - installed: version of the installed model, 0 for none; the update must be newer.
    /// - Throws: `RetvecError` where anything is wrong.
    public init(manifest: Data, signature: Data, key: String, name: String, installed: Int = 0) throws {
        guard installed >= 0 else {
            throw RetvecError(code: "UPDATE_INSTALLED", "The installed version is 0 for none, or more, not \(installed).")
        }
        let keys = try Self.keys(key)
        guard signature.count == 64, keys.contains(where: { $0.isValidSignature(signature, for: manifest) }) else {
            throw RetvecError(code: "UPDATE_SIGNATURE", "The manifest was not signed with this key, or was changed since. Do not use its files.")
        }
        let found = try Self.read(manifest)
        guard found.name == name else {
            throw RetvecError(code: "UPDATE_NAME", "The update is of the model \(found.name ?? "without a name"), not of \(name).")
        }
        guard let version = found.version, version >= 1, version <= Int(Int32.max) else {
            throw Self.unreadable("it has no version of the model")
        }
        guard version > installed else {
            throw RetvecError(code: "UPDATE_OLD", "The update is version \(version) of \(name), and \(installed) is installed.")
        }
        self.name = name
        self.version = version
        labels = found.labels
        texts = found.texts.map { (text: $0.text, labels: $0.labels) }
        listed = found.files
    }

    /// Checks that `content` is the file that was signed, byte for byte; throws `RetvecError` if not.
    public func check(_ file: String, _ content: Data) throws {
        guard let entry = listed.first(where: { $0.file == file }) else {
            throw RetvecError(code: "UPDATE_FILE", "\(file) is not in the manifest.")
        }
        guard content.count == entry.bytes else {
            throw RetvecError(code: "UPDATE_FILE", "\(file) has \(content.count) bytes instead of \(entry.bytes). Download it again.")
        }
        guard Data(SHA256.hash(data: content)) == Self.bytes(of: entry.sha256) else {
            throw RetvecError(code: "UPDATE_FILE", "\(file) is another file than the manifest lists. Download it again.")
        }
    }

    /// Checks that a file answers the golden texts as it did when it was exported; throws `RetvecError` for the first text that has
    /// other labels.
    ///
    ///     try update.tryTexts { text in classifier.predictAll(text).compactMap(\.label) }
    public func tryTexts(_ labelsOf: (String) throws -> [String]) throws {
        for (text, labels) in texts {
            let found = try labelsOf(text)
            guard found.sorted() == labels.sorted() else {
                throw RetvecError(code: "UPDATE_ANSWERS", "The update answers \(found) to \"\(text)\", not \(labels). Keep the installed model.")
            }
        }
    }

    /// The public keys in a string.
    private static func keys(_ text: String) throws -> [Curve25519.Signing.PublicKey] {
        let digits = text.split(whereSeparator: \.isWhitespace).map { $0.lowercased() }
        let keys = digits.compactMap { bytes(of: $0) }.filter { $0.count == 32 }.compactMap { try? Curve25519.Signing.PublicKey(rawRepresentation: $0) }
        guard !digits.isEmpty, keys.count == digits.count else {
            throw RetvecError(code: "UPDATE_KEY", "The public key must be 64 hexadecimal digits.")
        }
        guard !digits.contains(where: { $0.range(of: lowOrder, options: .regularExpression) != nil }) else {
            throw RetvecError(code: "UPDATE_KEY", "Anybody can sign for this public key. Build with the one that retvec-lite make-key wrote.")
        }
        return keys
    }

    private static func read(_ signed: Data) throws -> Manifest {
        let kind: Kind
        do {
            kind = try JSONDecoder().decode(Kind.self, from: signed)
        } catch {
            throw unreadable("it is not what export writes")
        }
        guard kind.format == "retvec-lite-manifest" else { throw unreadable("its format is not retvec-lite-manifest") }
        guard kind.manifestVersion == 1 else { throw unreadable("it is of another version; update retvec-lite") }
        guard kind.contractVersion == ownContract else {
            throw RetvecError(code: "UPDATE_CONTRACT", "The files follow version \(kind.contractVersion) of the contract. Update retvec-lite first.")
        }
        do {
            return try JSONDecoder().decode(Manifest.self, from: signed)
        } catch {
            throw unreadable("it lacks a field, or has one of another kind")
        }
    }

    private static func unreadable(_ why: String) -> RetvecError {
        RetvecError(code: "UPDATE_MANIFEST", "The manifest cannot be read: \(why).")
    }

    /// The bytes of hexadecimal digits; nil for anything else.
    private static func bytes(of digits: String) -> Data? {
        let values = digits.utf8.map { Character(UnicodeScalar($0)).hexDigitValue }
        guard values.count % 2 == 0 else { return nil }
        var found = Data()
        for place in stride(from: 0, to: values.count, by: 2) {
            guard let high = values[place], let low = values[place + 1] else { return nil }
            found.append(UInt8(16 * high + low))
        }
        return found
    }
}
#endif
