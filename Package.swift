// swift-tools-version:5.9
import PackageDescription

let package = Package(
    name: "RetvecLite",
    platforms: [.iOS(.v12), .macOS(.v10_13), .tvOS(.v12), .watchOS(.v4)],
    products: [
        .library(name: "RetvecLite", targets: ["RetvecLite"]),  // .retvec files, on the C engine
        .library(name: "RetvecLiteCoreML", targets: ["RetvecLiteCoreML"]),  // .mlpackage
    ],
    targets: [
        .target(name: "CRetvecLite", path: "swift/CRetvecLite"),
        .target(name: "RetvecLiteAnswers", path: "swift/RetvecLiteAnswers"),  // what both say
        .target(
            name: "RetvecLite", dependencies: ["CRetvecLite", "RetvecLiteAnswers"], path: "swift/RetvecLite",
            resources: [.copy("PrivacyInfo.xcprivacy")]),
        .target(
            name: "RetvecLiteCoreML", dependencies: ["CRetvecLite", "RetvecLiteAnswers"], path: "swift/RetvecLiteCoreML",
            resources: [.copy("PrivacyInfo.xcprivacy")]),
        .testTarget(name: "RetvecLiteTests", dependencies: ["RetvecLite", "RetvecLiteCoreML"], path: "swift/Tests"),
    ]
)
