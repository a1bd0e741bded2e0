// swift-tools-version:5.9
import PackageDescription

let package = Package(
    name: "RetvecLite",
    platforms: [.iOS(.v12), .macOS(.v10_13), .tvOS(.v12), .watchOS(.v4)],
    products: [.library(name: "RetvecLite", targets: ["RetvecLite"])],
    targets: [
        .target(name: "CRetvecLite", path: "swift/CRetvecLite"),
        .target(name: "RetvecLite", dependencies: ["CRetvecLite"], path: "swift/RetvecLite"),
    ]
)
