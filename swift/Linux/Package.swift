// swift-tools-version:6.0
// The package for tests on Linux: modules stand in for Core ML and CryptoKit, warnings are errors, and snippets of the pages are compiled.
import PackageDescription

let strict: [SwiftSetting] = [.unsafeFlags(["-warnings-as-errors"])]

let package = Package(
    name: "RetvecLite",
    targets: [
        .systemLibrary(name: "COpenSSL", path: "swift/Linux/COpenSSL"),
        .target(name: "CryptoKit", dependencies: ["COpenSSL"], path: "swift/Linux/CryptoKit"),
        .target(name: "CoreML", path: "swift/Linux/CoreML"),
        .target(name: "CRetvecLite", path: "swift/CRetvecLite"),
        .target(name: "RetvecLiteAnswers", path: "swift/RetvecLiteAnswers", swiftSettings: strict),
        .target(
            name: "RetvecLite", dependencies: ["CRetvecLite", "RetvecLiteAnswers", "CryptoKit"], path: "swift/RetvecLite",
            exclude: ["PrivacyInfo.xcprivacy"], swiftSettings: strict),
        .target(
            name: "RetvecLiteCoreML", dependencies: ["CRetvecLite", "RetvecLiteAnswers", "CoreML"], path: "swift/RetvecLiteCoreML",
            exclude: ["PrivacyInfo.xcprivacy"], swiftSettings: strict),
        .target(name: "Snippets", dependencies: ["RetvecLite", "RetvecLiteCoreML"], path: "snippets"),
        .testTarget(
            name: "RetvecLiteTests", dependencies: ["RetvecLite", "RetvecLiteCoreML", "Snippets"], path: "swift/Tests", swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
