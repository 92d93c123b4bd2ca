import WaystationOutbox
import WaystationOutboxCurl

/// What the gateway is told on its command line.
struct Arguments {
  /// The command line cannot be used; in words.
  struct Fault: Error {
    let words: String
  }

  static let usage = """
    usage: outbox-gateway --folder FOLDER --relay URL --client NAME [--lane NAME] [--path PATH]
           [--token-file FILE] [--certificates FILE] [--acknowledge] [--drain SECONDS] < LINES
    """

  private(set) var folder = ""
  private var relay = ""
  private var client = ""
  private(set) var lane = Lane.default
  private(set) var path = "/readings"
  private var tokenFile: String?
  private var certificates: String?
  private(set) var acknowledges = false
  private(set) var drain: Duration?

  init(_ words: some Sequence<String>) throws(Fault) {
    var words = Array(words)[...]
    while let name = words.popFirst() {
      if name == "--acknowledge" {
        acknowledges = true
        continue
      }
      guard let value = words.popFirst() else { throw Fault(words: "\(name)?\n\(Self.usage)") }
      switch name {
      case "--folder": folder = value
      case "--relay": relay = value
      case "--client": client = value
      case "--lane": lane = Lane(value)
      case "--path": path = value
      case "--token-file": tokenFile = value
      case "--certificates": certificates = value
      case "--drain":
        guard let seconds = Int(value), seconds >= 0 else {
          throw Fault(words: "--drain takes whole seconds")
        }
        drain = .seconds(seconds)
      default: throw Fault(words: "\(name)?\n\(Self.usage)")
      }
    }
    guard !folder.isEmpty, !relay.isEmpty, !client.isEmpty else { throw Fault(words: Self.usage) }
  }

  /// The outbox's settings.
  var settings: Settings {
    var options = CurlTransport.Options()
    options.certificates = certificates
    options.compresses = true
    var settings = Settings(
      folder: folder, destination: .relay(base: relay, client: client),
      transport: CurlTransport(options))
    // One reading that the upstream does not take is told, and holds up nothing.
    var lane = LaneSettings()
    lane.onRefusal = .skip
    settings.lanes[self.lane] = lane
    if let tokenFile { settings.credentials = TokenFile(path: tokenFile) }
    return settings
  }
}
