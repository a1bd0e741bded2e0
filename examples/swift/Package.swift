// swift-tools-version:5.9
import PackageDescription

let package = Package(
    name: "classify",
    platforms: [.macOS(.v10_13)],
    dependencies: [.package(name: "RetvecLite", path: "../..")],
    targets: [.executableTarget(name: "classify", dependencies: [.product(name: "RetvecLite", package: "RetvecLite")])]
)
