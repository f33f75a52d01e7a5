// swift-tools-version: 6.2
import Foundation
import PackageDescription

// The package beside Tern's own that its fuzzer is built from: with libFuzzer's instrumentation in
// every module, which no other build should have. `script/fuzz` gives the flags.
//
// `Kit` is a target of Tern's package too, where the test suite replays the corpus through it. So it
// is compiled here under the name of that package, which is its folder's.
let root = URL(filePath: Context.packageDirectory)
  .deletingLastPathComponent().deletingLastPathComponent()
let name = root.lastPathComponent.lowercased().map {
  $0.isLetter || $0.isNumber ? String($0) : "_"
}.joined()

let package = Package(
  name: "fuzz",
  dependencies: [.package(name: "tern", path: "../..")],
  targets: [
    .target(
      name: "FuzzTargets",
      dependencies: [
        .product(name: "Tern", package: "tern"), .product(name: "TernTesting", package: "tern"),
      ], path: "Kit",
      packageAccess: false,
      swiftSettings: [
        .enableUpcomingFeature("ExistentialAny"), .unsafeFlags(["-package-name", name]),
      ]),
    .executableTarget(
      name: "fuzz", dependencies: ["FuzzTargets"], path: "Run",
      swiftSettings: [.enableUpcomingFeature("ExistentialAny")]),
  ]
)
