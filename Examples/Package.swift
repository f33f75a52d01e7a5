// swift-tools-version: 6.2
import PackageDescription

// Programs that are built on Tern as an app is, by its products, with their services and tests.
// `Rehearsal` compiles in crash points for the tests. Tern's own tests ask for its traits in the
// same order, so that in one scratch folder what one package compiled of Tern is the other's too
// (Docs/Design/0037-packages.md).
let rehearsal = Package.Dependency.Trait.Condition.when(traits: ["Rehearsal"])

// What the scripts build has no warnings.
let strict: [SwiftSetting] =
  [.enableUpcomingFeature("ExistentialAny")]
  + (Context.environment["TERN_STRICT"] == nil ? [] : [.treatAllWarnings(as: .error)])

// As Tern's own tests: what takes most of an optimised build's time.
let testing = strict + [.unsafeFlags(["-Onone"], .when(configuration: .release))]

let tern = Target.Dependency.product(name: "Tern", package: "tern")
let ternJobs = Target.Dependency.product(name: "TernJobs", package: "tern")
let ternNetwork = Target.Dependency.product(name: "TernNetwork", package: "tern")
let ternTesting = Target.Dependency.product(name: "TernTesting", package: "tern")
// The server, for the tests that start it.
let ternCommand = Target.Dependency.product(name: "tern", package: "tern")
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
let hummingbird = Target.Dependency.product(name: "Hummingbird", package: "hummingbird")
let arguments = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")

let package = Package(
  name: "tern-examples",
  platforms: [.macOS(.v15)],
  traits: [.trait(name: "Rehearsal", description: "Crash points, for the tests.")],
  dependencies: [
    .package(
      name: "tern", path: "..",
      traits: [
        "Server", .trait(name: "Rehearsal", condition: rehearsal),
        .trait(name: "Telemetry", condition: rehearsal),
        .trait(name: "PostgreSQL", condition: rehearsal),
        .trait(name: "JWTs", condition: rehearsal),
      ]),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
  ],
  targets: [
    .executableTarget(
      name: "library", dependencies: ["ExampleService", tern, ternNetwork, grdb], path: "Library",
      exclude: ["README.md", "catalogue.csv"], swiftSettings: strict),
    .testTarget(
      name: "LibraryTests", dependencies: ["library", "ExampleProcesses"], swiftSettings: testing),

    .target(
      name: "ExampleService", dependencies: [hummingbird, arguments], path: "Service",
      swiftSettings: strict),
    // What the two programs share of their work, and their services have no use for.
    .target(
      name: "ExampleWork",
      dependencies: [
        "ExamplePages", "ExampleService", tern, ternJobs, ternNetwork, grdb, arguments,
      ],
      path: "Work", swiftSettings: strict),
    // The server of a page, the same files as Tern's own. Its sources are there with the server's
    // trait alone.
    .target(
      name: "ExamplePages", dependencies: [hummingbird], path: "Pages",
      swiftSettings: strict + [.define("Server")]),
    .target(
      name: "InterpreterKit", dependencies: ["ExampleService", hummingbird],
      path: "Interpreter/Kit", swiftSettings: strict),
    // A client of what the interpreter serves: its contract is Gemini's.
    .target(
      name: "InterpreterClient", dependencies: ["InterpreterKit", tern, ternNetwork],
      path: "Interpreter/Client", swiftSettings: strict),
    .executableTarget(
      name: "interpreter", dependencies: ["InterpreterKit", arguments],
      path: "Interpreter/Tool", swiftSettings: strict),
    .testTarget(
      name: "InterpreterTests",
      dependencies: ["InterpreterKit", "interpreter", "ExampleProcesses", tern],
      swiftSettings: testing),
    .executableTarget(
      name: "translate",
      dependencies: [
        "CTranslatePages", "ExamplePages", "ExampleWork", "InterpreterClient", "InterpreterKit",
        tern,
        ternJobs, ternNetwork, grdb, arguments,
      ],
      path: "Translate", exclude: ["README.md", "translate.png", "Page"], swiftSettings: strict),
    .target(name: "CTranslatePages", path: "Translate/Page", exclude: ["kit", "site"]),
    .testTarget(
      name: "TranslateTests",
      dependencies: [
        "InterpreterClient", "InterpreterKit", "ExampleWork", "interpreter", "translate",
        "ExampleProcesses", tern,
        ternCommand, grdb, hummingbird,
      ],
      swiftSettings: testing),

    .target(
      name: "RecognizerKit", dependencies: ["ExampleService", hummingbird],
      path: "Recognizer/Kit", swiftSettings: strict),
    .executableTarget(
      name: "recognizer", dependencies: ["RecognizerKit", arguments], path: "Recognizer/Tool",
      swiftSettings: strict),
    .testTarget(
      name: "RecognizerTests",
      dependencies: ["RecognizerKit", "ExampleRehearsals", "recognizer", "ExampleProcesses", tern],
      swiftSettings: testing),
    .target(name: "CScanPages", path: "Scan/Page", exclude: ["kit", "site"]),
    .executableTarget(
      name: "scan",
      dependencies: [
        "CScanPages", "ExamplePages", "ExampleWork", "RecognizerKit", tern, ternJobs, ternNetwork,
        grdb, arguments,
      ],
      path: "Scan",
      exclude: ["README.md", "Page", "Photos", "page.png"], swiftSettings: strict),
    .testTarget(
      name: "ScanTests",
      dependencies: [
        "RecognizerKit", "ExampleWork", "scan", "recognizer", "ExampleProcesses", tern, ternNetwork,
        ternCommand, grdb, hummingbird,
      ],
      swiftSettings: testing),
    .target(
      name: "ScanCrashKit",
      dependencies: ["ExampleRehearsals", "ExampleProcesses", tern, ternTesting, grdb],
      path: "Tests/ScanCrashKit", swiftSettings: strict),
    .executableTarget(
      name: "scan-crash", dependencies: ["ScanCrashKit"], path: "Tests/ScanCrashTool",
      swiftSettings: strict),
    .testTarget(
      name: "ScanCrashTests",
      dependencies: [
        "RecognizerKit", "ExampleRehearsals", "ScanCrashKit", "recognizer", "scan", tern,
      ],
      swiftSettings: testing),

    // The same files as in Tern's own tests. The other names keep what each package compiles of
    // them apart, in the scratch folder that both use.
    .target(name: "ExampleProcesses", path: "Tests/Processes", swiftSettings: strict),
    .target(name: "ExampleRehearsals", path: "Tests/Rehearsals", swiftSettings: strict),
  ]
)

// `script/test NAME` builds the test targets that it runs, and what they need.
if let chosen = Context.environment["TERN_TESTS"], !chosen.isEmpty {
  let names = Set(chosen.split(separator: ",").map(String.init))
  package.targets.removeAll { $0.type == .test && !names.contains($0.name) }
}
