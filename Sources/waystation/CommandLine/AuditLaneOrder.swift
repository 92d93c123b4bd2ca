import WaystationOutbox

/// The parsed command line of `waystation audit-lane`.
struct AuditLaneOrder: Equatable {
  /// The files; one of them may be `-`.
  ///
  /// Those of the relay are empty where only the device's signatures are looked at.
  var receipts: String
  var keys: String
  var ledger: String
  var requests: String
  /// The name of the key that is trusted; nil for the first of the file.
  var pin: String?
  /// The upstream's name, as receipts cover it.
  var upstream = "default"
  /// What the upstream's URL puts in front of each path.
  var prefix = ""
  /// The number to begin with; nil for the begin of each chain.
  var from: Int64?
  var isJSON = false
  /// The keys of devices; nil if their signatures are not looked at.
  var deviceKeys: String?
  /// The lane, where no ledger says which it is.
  var client: String?
  var lane: String?

  /// Whether only the device's signatures are looked at.
  var isOfDeviceAlone: Bool { receipts.isEmpty }

  /// Parses the rest of a command line.
  init(_ arguments: ArraySlice<String>) throws(UsageError) {
    let options = try OptionReader(arguments, of: .auditLane)
    deviceKeys = options.text("--device-keys")
    let isOfDeviceAlone =
      deviceKeys != nil && ["--receipts", "--keys", "--ledger"].allSatisfy { !options.has($0) }
    receipts = isOfDeviceAlone ? "" : try Self.file("--receipts", options)
    keys = isOfDeviceAlone ? "" : try Self.file("--keys", options)
    ledger = isOfDeviceAlone ? "" : try Self.file("--ledger", options)
    requests = try Self.file("--requests", options)
    if isOfDeviceAlone {
      client = try Self.file("--client", options)
      lane = try Self.file("--lane", options)
    }
    let files = [receipts, keys, ledger, requests, deviceKeys ?? ""]
    guard files.count(where: { $0 == "-" }) < 2 else {
      throw UsageError("standard input is one file only: give '-' once", to: .auditLane)
    }
    pin = options.text("--pin")
    upstream = options.text("--upstream") ?? upstream
    prefix = options.text("--strip-path") ?? prefix
    from = try options.value("--from", expected: "a number of the lane, from 1") {
      Int64($0).flatMap { (1...SignedReceipt.numberMax).contains($0) ? $0 : nil }
    }
    isJSON = options.has("--json")
  }

  private static func file(
    _ name: String, _ options: OptionReader
  ) throws(UsageError) -> String {
    guard let path = options.text(name) else {
      let help = Command.auditLane.spec.options.first { $0.name == name }?.help ?? ""
      throw UsageError("\(name) is missing: \(help)", to: .auditLane)
    }
    return path
  }
}
