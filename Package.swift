// swift-tools-version: 6.2
import PackageDescription

// `Server` brings the sync server and the `tern` command with their dependencies; without it a
// dependent fetches GRDB alone. `PostgreSQL` lets the server keep its data there, by libpq. `JWTs` has
// it take JSON Web Tokens, by jwt-kit, which brings swift-crypto and swift-certificates.
// `Telemetry` brings swift-log and swift-metrics for jobs. `Rehearsal` compiles in crash points and
// planted bugs for the tests, which look at all that is told too.
let server = TargetDependencyCondition.when(traits: ["Server"])
let jwt = TargetDependencyCondition.when(traits: ["JWTs"])
let telemetry = TargetDependencyCondition.when(traits: ["Telemetry"])

// What the scripts build has no warnings.
let strict: [SwiftSetting] =
  [.enableUpcomingFeature("ExistentialAny")]
  + (Context.environment["TERN_STRICT"] == nil ? [] : [.treatAllWarnings(as: .error)])

// `script/test` optimises what its tests run most, file by file: they take half of the time, and a change
// of one file compiles that file. Across modules nothing is inlined, or it would compile dependents.
let hot: [SwiftSetting] =
  strict
  + (Context.environment["TERN_OPTIMISED"] == nil
    ? []
    : [
      .unsafeFlags(
        ["-O", "-disable-cmo", "-assert-config", "Debug"], .when(configuration: .debug))
    ])

// The tests' own code, which takes most of an optimised build's time and is not what apps ship.
let testing = strict + [.unsafeFlags(["-Onone"], .when(configuration: .release))]

// Disks and clocks in C, of which tests take thousands.
let quick: [CSetting] = [.unsafeFlags(["-O2"])]

let package = Package(
  name: "tern",
  platforms: [.iOS(.v18), .macOS(.v15)],
  products: [
    .library(name: "Tern", targets: ["Tern"]),
    .library(name: "TernJobs", targets: ["TernJobs"]),
    .library(name: "TernNetwork", targets: ["TernNetwork"]),
    .library(name: "TernTesting", targets: ["TernTesting"]),
    .library(name: "TernTelemetry", targets: ["TernTelemetry"]),
    .library(name: "TernServer", targets: ["TernServer"]),
    .library(name: "TernServerTesting", targets: ["TernServerTesting"]),
    .executable(name: "tern", targets: ["TernTool"]),
  ],
  traits: [
    .trait(name: "Server", description: "The sync server and the tern command."),
    .trait(
      name: "PostgreSQL", description: "A store of the sync server on PostgreSQL.",
      enabledTraits: ["Server"]),
    .trait(
      name: "JWTs", description: "JSON Web Tokens at the sync server.", enabledTraits: ["Server"]),
    .trait(name: "Telemetry", description: "Jobs told to swift-log and swift-metrics."),
    .trait(
      name: "Rehearsal", description: "Crash points and planted bugs, for Tern's own tests.",
      enabledTraits: ["Telemetry", "PostgreSQL", "JWTs"]),
  ],
  dependencies: [
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0"),
    .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
    .package(url: "https://github.com/vapor/jwt-kit", from: "5.7.1"),
  ],
  targets: [
    .systemLibrary(name: "CZlib", providers: [.apt(["zlib1g-dev"])]),
    .systemLibrary(name: "CCurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    .systemLibrary(name: "CCrypto", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CNetlink"),
    .systemLibrary(name: "CPostgreSQL", providers: [.apt(["libpq-dev"])]),
    .target(name: "TernCore", dependencies: ["CZlib"], swiftSettings: hot),
    .target(name: "CTernSQLite"),
    .target(name: "CTernAPI", exclude: ["admin.json", "openapi.json"]),
    .target(name: "CTernPages", exclude: ["dashboard", "inspect", "kit"]),
    .target(
      name: "TernDatabase",
      dependencies: [
        "TernCore", "CTernSQLite",
        .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "GRDBSQLite", package: "GRDB.swift"),
      ],
      swiftSettings: hot),
    .target(
      name: "TernNetwork",
      dependencies: [
        "TernCore", .target(name: "CCurl", condition: .when(platforms: [.linux])),
        .target(name: "CNetlink", condition: .when(platforms: [.linux])),
      ],
      swiftSettings: strict),
    .target(
      name: "TernJobs", dependencies: ["TernDatabase", "TernNetwork"], swiftSettings: hot),
    .target(
      name: "Tern", dependencies: ["TernCore", "TernDatabase", "TernJobs", "TernNetwork"],
      swiftSettings: hot),
    .target(name: "SeededRandom", swiftSettings: hot),
    .target(name: "TernTesting", dependencies: ["SeededRandom", "Tern"], swiftSettings: hot),
    .target(
      name: "TernTelemetry",
      dependencies: [
        "TernCore", "TernJobs",
        .product(name: "Logging", package: "swift-log", condition: telemetry),
        .product(name: "Metrics", package: "swift-metrics", condition: telemetry),
      ],
      swiftSettings: strict),
    .target(
      name: "TernServer",
      dependencies: [
        "TernCore", "TernDatabase", .target(name: "CTernAPI", condition: server),
        .target(name: "CTernPages", condition: server),
        .target(name: "TernPages", condition: server),
        .target(name: "CCrypto", condition: .when(platforms: [.linux])),
        .target(name: "CPostgreSQL", condition: .when(traits: ["PostgreSQL"])),
        .product(name: "GRDB", package: "GRDB.swift", condition: server),
        .product(name: "Hummingbird", package: "hummingbird", condition: server),
        .product(name: "HummingbirdTLS", package: "hummingbird", condition: server),
        .product(name: "Tracing", package: "swift-distributed-tracing", condition: server),
        .product(name: "JWTKit", package: "jwt-kit", condition: jwt),
      ],
      swiftSettings: strict),
    .target(
      name: "TernServerTesting",
      dependencies: [
        "TernCore", "TernTesting", .target(name: "TernServer", condition: server),
      ],
      swiftSettings: strict),
    .target(
      name: "TernPages",
      dependencies: [
        .product(name: "Hummingbird", package: "hummingbird", condition: server)
      ],
      swiftSettings: strict),
    .executableTarget(
      name: "TernTool",
      dependencies: [
        .target(name: "CTernPages", condition: server), "Tern", "TernJobs", "TernPages",
        "TernServer",
        .product(name: "ArgumentParser", package: "swift-argument-parser", condition: server),
        .product(name: "Configuration", package: "swift-configuration", condition: server),
      ],
      swiftSettings: strict),
    .executableTarget(
      name: "tern-bench",
      dependencies: [
        "SeededRandom", "Tern", "TernCore", "TernDatabase", "CTernSQLite", "TernTesting",
        "EditingTraces",
        .target(name: "TernServer", condition: server),
        .product(name: "GRDB", package: "GRDB.swift"),
      ],
      path: "Benchmarks/TernBench", swiftSettings: strict),
    .target(
      name: "EditingTraces", dependencies: ["CZlib"], path: "Tests/EditingTraces",
      swiftSettings: strict),
    .testTarget(
      name: "TernCoreTests",
      // Not Tern: who changes TernCore need not wait until that is compiled.
      dependencies: ["Rehearsals", "SeededRandom", "TernCore", "WireKit", "EditingTraces"],
      exclude: ["Fixtures"],
      swiftSettings: testing),
    .target(
      name: "FuzzKit",
      dependencies: [
        "Tern", "TernTesting", "WireKit", .product(name: "GRDB", package: "GRDB.swift"),
      ],
      path: "Tests/Fuzz/Kit", swiftSettings: strict),
    .testTarget(name: "FuzzCorpusTests", dependencies: ["FuzzKit"], swiftSettings: testing),
    .executableTarget(
      name: "JobProcess",
      dependencies: ["Tern", "TernTelemetry", .product(name: "GRDB", package: "GRDB.swift")],
      path: "Tests/JobProcess", swiftSettings: strict),
    .testTarget(
      name: "TernJobsTests",
      dependencies: [
        "Tern", "TernTelemetry", "TernTesting", "TestProcesses", "JobProcess",
        .product(name: "InMemoryLogging", package: "swift-log", condition: telemetry),
        .product(name: "MetricsTestKit", package: "swift-metrics", condition: telemetry),
      ],
      swiftSettings: testing),
    .target(
      name: "TestDevice", dependencies: ["Tern"], path: "Tests/Device", swiftSettings: strict),
    .target(
      name: "ReplicaStoreKit", dependencies: ["Rehearsals", "Tern", "TernTesting"],
      path: "Tests/ReplicaStoreKit", swiftSettings: strict),
    .testTarget(
      name: "TernTests",
      dependencies: [
        "Rehearsals", "Tern", "TernTesting", "TestDevice", "TestProcesses", "ReplicaStoreKit",
      ],
      exclude: ["Fixtures"],
      swiftSettings: testing),
    .testTarget(
      name: "TernServerTests",
      dependencies: [
        "Rehearsals", "Tern", "TernCore", "TernServer", "TernServerTesting", "TernTesting",
        "TernTool",
        .product(
          name: "InMemoryTracing", package: "swift-distributed-tracing", condition: server),
        .product(name: "JWTKit", package: "jwt-kit", condition: jwt),
      ],
      exclude: ["Fixtures"],
      swiftSettings: testing),
    .testTarget(
      name: "TernNetworkTests",
      dependencies: [
        "TernNetwork", "Tern", "TernTesting", "TestProcesses", "PathProbe", "JobProcess",
      ],
      exclude: ["Fixtures"], swiftSettings: testing),
    .executableTarget(
      name: "PathProbe", dependencies: ["TernNetwork"], path: "Tests/PathProbe",
      swiftSettings: strict),
    .target(
      name: "CPowerLossVFS",
      dependencies: [.product(name: "GRDBSQLite", package: "GRDB.swift")],
      path: "Tests/CPowerLossVFS", cSettings: quick),
    .target(
      name: "CFaultVFS",
      dependencies: [.product(name: "GRDBSQLite", package: "GRDB.swift")],
      path: "Tests/CFaultVFS", cSettings: quick),
    .testTarget(
      name: "FaultTests",
      dependencies: ["Rehearsals", "Tern", "TernServer", "TernTesting", "TestDevice", "CFaultVFS"],
      path: "Tests/Faults", swiftSettings: testing),
    .executableTarget(
      name: "PowerLossWriter", dependencies: ["TernDatabase", "CPowerLossVFS"],
      path: "Tests/PowerLossWriter", swiftSettings: strict),
    .testTarget(
      name: "TernDatabaseTests",
      dependencies: [
        "TernDatabase", "CPowerLossVFS", "PowerLossWriter", "Rehearsals", "TestProcesses",
      ],
      swiftSettings: testing),
    .target(
      name: "WireKit", dependencies: ["TernCore"], path: "Tests/WireKit", swiftSettings: strict),
    .target(name: "Rehearsals", path: "Tests/Rehearsals", swiftSettings: strict),
    .target(name: "TestProcesses", path: "Tests/Processes", swiftSettings: strict),
    .target(
      name: "CrashKit", dependencies: ["Rehearsals", "Tern", "TernTesting", "TestProcesses"],
      path: "Tests/Crash/Kit", swiftSettings: strict),
    .executableTarget(
      name: "CrashDevice", dependencies: ["Tern", "CrashKit", "CPowerLossVFS"],
      path: "Tests/Crash/Device", swiftSettings: strict),
    .executableTarget(
      name: "tern-crash", dependencies: ["CrashKit"], path: "Tests/Crash/Tool",
      swiftSettings: strict),
    .testTarget(
      name: "CrashTests",
      dependencies: ["CrashKit", "CrashDevice", "Rehearsals", "TernTool", "TestProcesses"],
      path: "Tests/Crash/Tests", swiftSettings: testing),
    .target(
      name: "CMemory", dependencies: [.product(name: "GRDBSQLite", package: "GRDB.swift")],
      path: "Tests/Simulation/CMemory", cSettings: quick),
    .target(
      name: "SimulationKit",
      dependencies: ["Tern", "TernServer", "TernTesting", "TestDevice", "CMemory"],
      path: "Tests/Simulation/Kit", swiftSettings: strict),
    .executableTarget(
      name: "tern-sim", dependencies: ["SimulationKit"], path: "Tests/Simulation/Tool",
      swiftSettings: strict),
    .testTarget(
      name: "SimulationTests", dependencies: ["Rehearsals", "SimulationKit"],
      path: "Tests/Simulation/Tests",
      swiftSettings: testing),
    .executableTarget(
      name: "FolderWriter", dependencies: ["Tern", "TernTesting"], path: "Tests/FolderWriter",
      swiftSettings: strict),
    .testTarget(
      name: "EngineTests",
      dependencies: [
        "Rehearsals", "Tern", "TernServer", "TernTesting", "TernTool", "TestDevice",
        "TestProcesses", "FolderWriter",
      ],
      swiftSettings: testing),
    .executableTarget(
      name: "PageWriter", dependencies: ["Tern", "TernJobs"], path: "Tests/PageWriter",
      swiftSettings: strict),
    .testTarget(
      name: "PackageTests",
      dependencies: [
        "PageWriter", "Rehearsals", "Tern", "TernPages", "TernServer", "TernTool", "TestProcesses",
      ],
      swiftSettings: testing),
  ]
)

// `script/test NAME` builds the test targets that it runs, and what they need.
if let chosen = Context.environment["TERN_TESTS"], !chosen.isEmpty {
  let names = Set(chosen.split(separator: ",").map(String.init))
  package.targets.removeAll { $0.type == .test && !names.contains($0.name) }
}
