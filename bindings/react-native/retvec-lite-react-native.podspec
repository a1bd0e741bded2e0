require "json"

package = JSON.parse(File.read(File.join(__dir__, "package.json")))

Pod::Spec.new do |s|
  s.name = package["name"]
  s.version = package["version"]
  s.summary = package["description"]
  s.license = package["license"]
  s.homepage = package["repository"]
  s.author = "retvec-lite"
  s.source = { :git => package["repository"], :tag => "v#{package["version"]}" }
  s.platform = :ios, "15.1"
  s.swift_version = "5.9"
  s.source_files = "ios/*.{swift,m}"
  s.dependency "React-Core"
  # React Native 0.75 and newer; the app's Podfile needs use_frameworks!.
  spm_dependency(s,
    url: package["repository"],
    requirement: { kind: "upToNextMinorVersion", minimumVersion: package["version"] },
    products: ["RetvecLite"]
  )
end
