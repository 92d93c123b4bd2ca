import WaystationOutbox
import WaystationOutboxCurl

/// What the gateway has of a lane for an audit.
enum Printed: String {
  case receipts, ledger
}

/// What the gateway is told on its command line.
struct Arguments {
  /// The command line cannot be used, or asks for help; in words.
  struct Fault: Error {
    let words: String
    var isHelp = false
  }

  static let usage = """
    usage: outbox-gateway --folder FOLDER --relay URL --client NAME [--lane NAME] [--path PATH]
           [--token-file FILE] [--certificates FILE] [--custody accepted|receipt|delivered]
           [--evidence] [--sign-key FILE | --unsigned] [--pin KEY]... [--wait-max SECONDS]
           [--acknowledge] [--drain SECONDS] [--check-in SECONDS] < LINES
           outbox-gateway --folder FOLDER --relay URL --client NAME [--lane NAME]
           --print receipts|ledger
           outbox-gateway --sign-key FILE --show-key
    It ends with 0, with 1 if a line was not kept or did not get through in time, and with 2 if the
    command line cannot be used. examples/README.md says what each option means, and each line that
    it tells.
    """

  private(set) var folder = ""
  private var relay = ""
  private var client = ""
  private(set) var lane = Lane.default
  private(set) var path = "/readings"
  /// What is printed in place of everything else.
  private(set) var prints: Printed?
  private(set) var tokenFile: String?
  private var certificates: String?
  private var custody = Custody.accepted
  private var keepsEvidence = false
  private var signer: OpenSSLSigner?
  private var isUnsigned = false
  private(set) var showsKey = false
  private var pins: [KeyID] = []
  private var waitMax: Duration?
  private var checkInEvery: Duration?
  private(set) var acknowledges = false
  private(set) var drain: Duration?

  init(_ words: some Sequence<String>) throws(Fault) {
    var words = Array(words)[...]
    while let name = words.popFirst() {
      if name == "--help" || name == "-h" { throw Fault(words: Self.usage, isHelp: true) }
      if takeFlag(name) { continue }
      guard let value = words.popFirst() else { throw Fault(words: "\(name)?\n\(Self.usage)") }
      switch name {
      case "--folder": folder = value
      case "--relay": relay = value
      case "--client": client = value
      case "--lane": lane = Lane(value)
      case "--path": path = value
      case "--token-file": tokenFile = value
      case "--certificates": certificates = value
      case "--sign-key": signer = try Self.signer(value)
      case "--custody": custody = try Self.custody(value)
      case "--pin": pins.append(KeyID(value))
      case "--wait-max": waitMax = try Self.seconds(value, name, atLeast: 1)
      case "--check-in": checkInEvery = try Self.seconds(value, name, atLeast: 1)
      case "--print": prints = try Self.printed(value)
      case "--drain": drain = try Self.seconds(value, name, atLeast: 0)
      default: throw Fault(words: "\(name)?\n\(Self.usage)")
      }
    }
    if showsKey, signer != nil { return }
    guard !showsKey else { throw Fault(words: "--show-key needs --sign-key\n\(Self.usage)") }
    for (name, value) in [("--folder", folder), ("--relay", relay), ("--client", client)]
    where value.isEmpty {
      throw Fault(words: "\(name) is missing\n\(Self.usage)")
    }
    guard path.hasPrefix("/") else { throw Fault(words: "--path begins with /") }
    guard !isUnsigned || signer == nil else { throw Fault(words: "--sign-key or --unsigned?") }
  }

  /// Takes an option that has no value.
  private mutating func takeFlag(_ name: String) -> Bool {
    switch name {
    case "--acknowledge": acknowledges = true
    case "--evidence": keepsEvidence = true
    case "--show-key": showsKey = true
    case "--unsigned": isUnsigned = true
    default: return false
    }
    return true
  }

  private static func signer(_ path: String) throws(Fault) -> OpenSSLSigner {
    do throws(OpenSSLSigner.Fault) { return try OpenSSLSigner(reading: path) } catch {
      throw Fault(words: error.description)
    }
  }

  /// The public key of what signs, for whoever verifies.
  var publicKey: String? { signer?.publicKey }

  private static func seconds(
    _ value: String, _ name: String, atLeast least: Int
  ) throws(Fault) -> Duration {
    guard let seconds = Int(value), seconds >= least else {
      throw Fault(words: "\(name) takes whole seconds, from \(least) on")
    }
    return .seconds(seconds)
  }

  private static func printed(_ word: String) throws(Fault) -> Printed {
    guard let printed = Printed(rawValue: word) else {
      throw Fault(words: "--print takes receipts or ledger")
    }
    return printed
  }

  private static func custody(_ word: String) throws(Fault) -> Custody {
    switch word {
    case "accepted": .accepted
    case "receipt": .receipt
    case "delivered": .delivered
    default: throw Fault(words: "--custody takes accepted, receipt or delivered")
    }
  }

  /// Whether bodies go once the relay has signed for them.
  var wantsReceipts: Bool { custody == .receipt }

  /// The outbox's settings.
  var settings: Settings {
    var options = CurlTransport.Options()
    options.certificates = certificates
    options.compresses = true
    var settings = Settings(
      folder: folder, destination: .relay(base: relay, client: client, pins: pins),
      transport: CurlTransport(options))
    // One reading that the upstream does not take is told, and holds up nothing.
    var lane = LaneSettings()
    lane.onRefusal = .skip
    lane.custody = custody
    // A lane that is opened without evidence waits for no signature any more: to print lets go of
    // nothing.
    lane.evidence = keepsEvidence || prints != nil
    lane.signed = !isUnsigned
    settings.lanes[self.lane] = lane
    if custody != .accepted || lane.evidence || signer != nil {
      settings.verifier = OpenSSLReceiptVerifier()
    }
    settings.signer = signer
    // Nothing goes while it is looked at.
    settings.startPaused = prints != nil
    if let checkInEvery { settings.sending.checkInEvery = checkInEvery }
    if let waitMax { settings.sending.backoff = .seconds(1)...waitMax }
    if let tokenFile { settings.credentials = TokenFile(path: tokenFile) }
    return settings
  }
}
