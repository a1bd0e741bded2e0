import Foundation

/// Texts and the answers that every runtime must give: `golden/NAME.json`, or what export writes as `golden.json`.
struct Golden: Decodable {
    struct Case: Decodable {
        let name: String
        /// nil where no string has these code points.
        let text: String?
        /// Absent in the files of the repository where there is a text.
        let codepoints: [Int]?
        let probabilities: [String: [Double]]
        /// By key of a file: the label, null for none, or a list. Absent where the tolerance allows several answers.
        let labels: [String: Labels?]?
    }

    struct Labels: Decodable {
        let names: Set<String>

        init(from decoder: Decoder) throws {
            let value = try decoder.singleValueContainer()
            if let one = try? value.decode(String.self) {
                names = [one]
            } else {
                names = Set(try value.decode([String].self))
            }
        }
    }

    let labels: [String]
    let tolerance: [String: Double]
    let cases: [Case]
    let long: [Case]

    /// The folder `golden` of the repository.
    static let folder = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("golden")

    static func read(_ file: URL) throws -> Golden {
        try JSONDecoder().decode(Golden.self, from: Data(contentsOf: file))
    }

    /// Calls `check` with each text, its probabilities by label, and its labels where they are certain.
    func forEach(
        _ key: String, _ check: (_ name: String, _ text: String, _ probabilities: [String: Double], _ labels: Set<String>?) throws -> Void
    ) rethrows {
        for item in cases + long {
            guard let text = item.text, let values = item.probabilities[key] else { continue }
            let certain = item.labels?[key].map { $0?.names ?? [] }
            try check(item.name, text, Dictionary(uniqueKeysWithValues: zip(labels, values)), certain)
        }
    }
}
