// swift-tools-version: 6.2
import PackageDescription

/// Whether what is built is to be fuzzed (scripts/fuzz).
let isFuzzed = Context.environment["WAYSTATION_FUZZ"] != nil

/// How fast code is built.
///
/// It is built with a look into other modules, and so that the linker leaves out what nobody calls,
/// be it public or not: a program is linked from all modules at once.
let released = [
  "-cross-module-optimization", "-Xfrontend", "-function-sections", "-Xfrontend",
  "-internalize-at-link",
]

/// How programs are linked: what could be looked up by its name would have to stay, and nobody does
/// that.
let program: [LinkerSetting] = [
  .unsafeFlags(
    ["-Xlinker", "--no-export-dynamic"], .when(platforms: [.linux], configuration: .release))
]

/// Each module is compiled as a whole where all is built once (scripts/lib/common.sh).
///
/// Nothing goes on from it later, and it is a fifth less work. It is a tenth less once more without
/// the first pass over each module, which only lets those begin sooner that import it.
let whole =
  Context.environment["WAYSTATION_BUILD_ONCE"] == nil
  ? []
  : ["-whole-module-optimization", "-num-threads", "2", "-no-emit-module-separately-wmo"]

/// Every target is held to the same rules: Swift 6 mode, no warning, explicit existentials.
let strict: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  // SwiftPM takes unsafe flags of a package that others name by version, since 6.2, and only of one
  // whose tools version above is 6.2 or later: do not lower it.
  .unsafeFlags(isFuzzed ? [] : released, .when(configuration: .release)),
  .unsafeFlags(whole, .when(configuration: .debug)),
]

/// What scripts/fuzz builds otherwise: all that reads what strangers have sent.
let fuzzed: Set = ["JSON", "RelayCore", "Compression", "HTTPServer", "RelayServer"]
let fuzzing: [SwiftSetting] = [.unsafeFlags(["-enable-testing", "-sanitize=fuzzer,address"])]

/// A Swift target of this package, built under the `strict` settings.
func target(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .target(
    name: name, dependencies: dependencies,
    swiftSettings: isFuzzed && fuzzed.contains(name) ? strict + fuzzing : strict)
}

/// The tests of one target, in `Tests/<name>Tests`.
func tests(of name: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .testTarget(
    name: "\(name)Tests", dependencies: [.byName(name: name)] + dependencies,
    swiftSettings: strict)
}

/// One C library, with a module map and a shim header, imported by one target only.
func systemLibrary(_ name: String, pkgConfig: String? = nil, apt package: String) -> Target {
  .systemLibrary(name: name, pkgConfig: pkgConfig, providers: [.apt([package])])
}

/// A store in memory that carries out the same plans; only tests link against it.
let storeModel: Target = .target(
  name: "StoreModel", dependencies: ["RelayCore"], path: "Tests/Support/StoreModel",
  swiftSettings: strict)

/// A real PostgreSQL server for tests; only tests link against it.
let postgresTesting: Target = .target(
  name: "PostgresTesting", dependencies: ["Postgres", "EventLoop"],
  path: "Tests/Support/PostgresTesting", swiftSettings: strict)

/// The device's side, and its simulation with a relay's rules and scheduler.
let outboxTests = tests(
  of: "WaystationOutbox", ["WaystationOutboxTesting", "StoreModel", "SQLite", "RelayCore", "JSON"])

let package = Package(
  name: "waystation",
  // For the device's side alone, because of Synchronization.
  platforms: [.iOS(.v18), .macOS(.v15), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    .executable(name: "waystation", targets: ["waystation"]),
    // The device's side, for apps and gateways.
    .library(name: "WaystationOutbox", targets: ["WaystationOutbox"]),
    .library(name: "WaystationOutboxCurl", targets: ["WaystationOutboxCurl"]),
    .library(name: "WaystationOutboxFoundation", targets: ["WaystationOutboxFoundation"]),
    .library(name: "WaystationOutboxTesting", targets: ["WaystationOutboxTesting"]),
    // Loaded into a relay under test; see the header.
    .library(name: "ClockShim", type: .dynamic, targets: ["ClockShim"]),
    // Loaded into the relay by tests of power cuts and failing disks; nothing links against it.
    .library(name: "DiskShim", type: .dynamic, targets: ["DiskShim"]),
    // Loaded into the relay by tests of signals that come before its main.
    .library(name: "SignalShim", type: .dynamic, targets: ["SignalShim"]),
  ],
  traits: [
    .trait(name: "PostgreSQL", description: "Stores in PostgreSQL, by libpq"),
    .default(enabledTraits: ["PostgreSQL"]),
  ],
  targets: [
    systemLibrary("CSQLite", pkgConfig: "sqlite3", apt: "libsqlite3-dev"),
    systemLibrary("CCurl", pkgConfig: "libcurl", apt: "libcurl4-openssl-dev"),
    systemLibrary("COpenSSL", pkgConfig: "openssl", apt: "libssl-dev"),
    systemLibrary("CZlib", pkgConfig: "zlib", apt: "zlib1g-dev"),
    systemLibrary("CPostgres", pkgConfig: "libpq", apt: "libpq-dev"),
    systemLibrary("CLinux", apt: "libc6-dev"),

    // The operators' page, embedded by the C compiler.
    .target(name: "CPage", exclude: ["files"]),
    // What the relay does before its main.
    .target(name: "CStart"),

    target("JSON"),
    target("RelayCore"),
    target("EventLoop", ["CLinux", "RelayCore"]),
    target("Cryptography", ["COpenSSL", "RelayCore"]),
    target("Compression", ["CZlib"]),
    target("HTTPServer", ["EventLoop", "Cryptography", "RelayCore"]),
    target("SQLite", ["CSQLite", "RelayCore"]),
    target("SQLitePages", ["SQLite", "RelayCore"]),
    target("SQLiteStore", ["SQLitePages", "SQLite", "Cryptography", "RelayCore", "EventLoop"]),
    // Without the trait it is empty, and nothing needs libpq.
    target(
      "Postgres", [.target(name: "CPostgres", condition: .when(traits: ["PostgreSQL"]))]),
    target("PostgresStore", ["Postgres", "RelayCore", "EventLoop"]),
    target("WaystationOutbox", ["SQLitePages", "SQLite", "RelayCore", "JSON"]),
    target(
      "WaystationOutboxCurl",
      [
        "WaystationOutbox", "Forwarder", "Compression", "Cryptography", "RelayCore", "EventLoop",
      ]),
    target("WaystationOutboxFoundation", ["WaystationOutbox", "RelayCore"]),
    target("WaystationOutboxTesting", ["WaystationOutbox", "RelayCore", "JSON"]),
    target("Forwarder", ["CCurl", "RelayCore", "EventLoop", "Cryptography"]),
    target(
      "RelayServer",
      [
        "CPage", "JSON", "RelayCore", "EventLoop", "Cryptography", "Compression", "HTTPServer",
        "SQLite", "SQLiteStore", "Postgres", "PostgresStore", "Forwarder",
      ]),
    .executableTarget(
      name: "waystation",
      dependencies: [
        "RelayServer", "HTTPServer", "SQLiteStore", "EventLoop", "RelayCore", "JSON", "Forwarder",
        "WaystationOutbox", "CStart",
      ],
      swiftSettings: strict, linkerSettings: program),

    // Examples that are built and tested with everything else.
    .executableTarget(
      name: "outbox-gateway",
      dependencies: ["WaystationOutbox", "WaystationOutboxCurl"],
      path: "examples/gateway", swiftSettings: strict, linkerSettings: program),
    .target(
      name: "ExampleApp", dependencies: ["WaystationOutbox", "WaystationOutboxFoundation"],
      path: "examples/app/Sources", swiftSettings: strict),
    .testTarget(
      name: "ExampleAppTests",
      dependencies: ["ExampleApp", "WaystationOutbox", "WaystationOutboxTesting"],
      path: "examples/app/Tests", swiftSettings: strict),

    // Without a sanitizer: what is loaded into a relay is loaded as well into the programs that it
    // starts, such as the sanitizer's own symbolizer.
    .target(
      name: "ClockShim", path: "Tests/ClockShim",
      cSettings: [.unsafeFlags(["-fno-sanitize=all"])]),
    .target(
      name: "DiskShim", path: "Tests/DiskShim",
      cSettings: [.unsafeFlags(["-fno-sanitize=all"])]),
    .target(
      name: "SignalShim", path: "Tests/SignalShim",
      cSettings: [.unsafeFlags(["-fno-sanitize=all"])]),

    storeModel,
    postgresTesting,
    tests(of: "JSON"),
    tests(of: "RelayCore", ["StoreModel", "Cryptography"]),
    tests(of: "EventLoop", ["CLinux", "RelayCore"]),
    tests(of: "Cryptography", ["COpenSSL", "RelayCore"]),
    tests(of: "Compression"),
    tests(of: "HTTPServer", ["EventLoop", "RelayCore", "Cryptography", "COpenSSL"]),
    tests(of: "SQLite"),
    tests(
      of: "SQLiteStore",
      [
        "SQLitePages", "SQLite", "RelayCore", "EventLoop", "Cryptography", "StoreModel", "Postgres",
        "PostgresStore", "PostgresTesting",
      ]),
    outboxTests,
    tests(of: "WaystationOutboxFoundation", ["WaystationOutbox", "WaystationOutboxTesting"]),
    tests(of: "Postgres", ["PostgresTesting"]),
    tests(of: "PostgresStore", ["Postgres", "PostgresTesting", "RelayCore", "EventLoop"]),
    tests(of: "Forwarder", ["CCurl", "COpenSSL", "EventLoop", "HTTPServer", "RelayCore"]),
    tests(
      of: "RelayServer",
      [
        "RelayCore", "Cryptography", "Compression", "HTTPServer", "EventLoop", "JSON",
        "SQLiteStore", "Forwarder",
      ]),
    .testTarget(
      name: "WaystationTests",
      dependencies: ["waystation", "RelayServer", "EventLoop", "RelayCore", "JSON"],
      swiftSettings: strict),
    .testTarget(
      name: "EndToEnd",
      dependencies: [
        "waystation", "RelayServer", "SQLite", "SQLitePages", "SQLiteStore", "EventLoop",
        "HTTPServer", "RelayCore", "JSON", "Compression", "Postgres", "PostgresTesting",
        "WaystationOutbox",
        "WaystationOutboxCurl", "WaystationOutboxFoundation", "outbox-gateway",
      ],
      swiftSettings: strict),
  ]
)

// The benchmarks' programs are built only where Benchmarks/run asks for them: they measure parts
// that are open within this package alone, and nobody who builds the relay needs them.
if Context.environment["WAYSTATION_BENCHMARKS"] != nil {
  package.targets += [
    .executableTarget(
      name: "bench-outbox", dependencies: ["WaystationOutbox", "WaystationOutboxCurl"],
      path: "Benchmarks/Sources/bench-outbox", swiftSettings: strict, linkerSettings: program),
    .executableTarget(
      name: "bench-forwarder", dependencies: ["Forwarder", "EventLoop", "RelayCore"],
      path: "Benchmarks/Sources/bench-forwarder", swiftSettings: strict, linkerSettings: program),
    .executableTarget(
      name: "bench-server", dependencies: ["HTTPServer", "EventLoop"],
      path: "Benchmarks/Sources/bench-server", swiftSettings: strict, linkerSettings: program),
  ]
}

// Where scripts/fuzz asks for it, the fuzzers are a program with sanitizers. Elsewhere they are
// tests, which go through what that has learnt.
let fuzzerDependencies: [Target.Dependency] = [
  "JSON", "RelayCore", "Compression", "HTTPServer", "RelayServer",
]
package.targets.append(
  isFuzzed
    ? .executableTarget(
      name: "fuzz", dependencies: fuzzerDependencies, path: "Tests/Fuzz",
      sources: ["Sources", "Driver"], swiftSettings: strict + fuzzing,
      linkerSettings: [.unsafeFlags(["-sanitize=fuzzer,address", "-use-ld=lld"])])
    : .testTarget(
      name: "FuzzTests", dependencies: fuzzerDependencies, path: "Tests/Fuzz",
      exclude: ["Corpus", "Dictionaries", "Driver"], sources: ["Sources", "Replay"],
      swiftSettings: strict))

// Thousands of simulated years need the optimiser, and nothing but what decides: the core with the
// model of a store, and the device's side (scripts/simulate).
if Context.environment["WAYSTATION_CORE_ALONE"] != nil {
  package.products = []
  package.targets = [
    target("RelayCore"), storeModel, target("JSON"),
    systemLibrary("COpenSSL", pkgConfig: "openssl", apt: "libssl-dev"),
    target("Cryptography", ["COpenSSL", "RelayCore"]),
    tests(of: "RelayCore", ["StoreModel", "Cryptography"]),
    systemLibrary("CSQLite", pkgConfig: "sqlite3", apt: "libsqlite3-dev"),
    target("SQLite", ["CSQLite", "RelayCore"]),
    target("SQLitePages", ["SQLite", "RelayCore"]),
    target("WaystationOutbox", ["SQLitePages", "SQLite", "RelayCore", "JSON"]),
    target("WaystationOutboxTesting", ["WaystationOutbox", "RelayCore", "JSON"]),
    outboxTests,
  ]
}
