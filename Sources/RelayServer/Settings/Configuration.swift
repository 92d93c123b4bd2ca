import JSON
import RelayCore

/// Everything that can be set about a relay; what stands here are the defaults.
///
/// Made by ``load(file:environment:flags:)`` from a JSON file, variables and flags, and checked as
/// a whole before anything is opened. The names are those of the file.
package struct Configuration: KeyedSection, Sendable {
  package var name: String?
  package var listen = [ListenerConfiguration.loopback(port: 8080)]
  package var access = AccessConfiguration()
  package var data = "./data"
  package var store = StoreConfiguration()
  package var upstreams: [UpstreamConfiguration] = []
  package var lanes = LaneRulesTable()
  package var clients = ClientRulesTable()
  package var collections: [TagCollection] = []
  package var limits = LimitsConfiguration()
  package var retention = RetentionConfiguration()
  package var events = EventsConfiguration()
  package var audit = AuditConfiguration()
  package var notify = NotifyConfiguration()
  package var receipts: ReceiptsConfiguration?
  package var clock = ClockConfiguration()
  package var tracing = TracingConfiguration()
  package var log = LogConfiguration()
  package var shutdownGraceSeconds = 30

  /// Whether a damaged store is moved aside at the start; only a flag says so, for one start.
  package var setsAsideDamaged = false
  /// The data folder that is not used, since the store is in a database; nil if none was named.
  package var unusedData: String?
  /// The file that it was read from; nil where only variables and flags said something.
  package var origin: ConfigurationOrigin?

  /// The defaults, with no upstream yet.
  package init() {}

  /// The upstream of that name; nil if there is none.
  package func upstream(named name: String) -> UpstreamConfiguration? {
    upstreams.first { $0.name == name }
  }

  /// The upstream for envelopes that name none: the one called `default`, or the only one.
  package var defaultUpstream: UpstreamConfiguration? {
    upstream(named: "default") ?? (upstreams.count == 1 ? upstreams[0] : nil)
  }
}

extension Configuration {
  func check(_ reader: SectionReader) {
    guard reader.has("data"), store.postgres != nil else { return }
    reader.problems.add(
      "data", "does not go with \"store.postgres\", which is where the store is; leave one out")
  }

  /// A hundred years, in seconds: longer is a mistake, and sums of it must not overflow.
  static let secondsMax = 3_155_760_000

  @KeyList static var keys: [Key] {
    Key(
      "name", \.name,
      .unlessAbsent(
        .text("1 to 64 letters, digits, `.`, `_` or `-`", UpstreamConfiguration.isName)),
      """
      what this relay and its spares are called where people see more than one: on the page, by \
      `waystation status`, in `/status`, and in [messages](operating.md#be-told)
      """)
    Key(
      "listen", \.listen, ListenerConfiguration.form + " or an array of such",
      "where to listen, and for whom: see [below](#listen)",
      restart: "a listener is bound once, at the start",
      read: { $1.readListeners(into: &$0.listen) },
      write: { configuration, json in
        json.memberArray("listen") { json in
          for listener in configuration.listen { listener.write(to: &json) }
        }
      })
    Key(section: "access", \.access)
    Key(
      "data", \.data, .path("the path of a folder"),
      """
      the folder that holds the store; made if it is missing. Under systemd the default is what \
      `StateDirectory=` names
      """,
      restart: "the store is opened once, at the start")
    Key(section: "store", \.store, restart: "the store is opened once, at the start")
    Key(
      "upstreams", \.upstreams, "by name: 1 to 64 letters, digits, `.`, `_` or `-`",
      absent: "none; at least one is needed", "where envelopes go: see [below](#upstreamsname)",
      differences: UpstreamConfiguration.differences,
      read: { configuration, reader in
        reader.section("upstreams") { configuration.upstreams = $0.readUpstreams() }
      },
      write: { configuration, json in
        json.memberObject("upstreams") { json in
          for upstream in configuration.upstreams {
            json.memberObject(upstream.name) { upstream.writeMembers(to: &$0) }
          }
        }
      })
    Key(
      patterns: "lanes", \.lanes, of: "lane",
      "how lanes, of whichever client, take their turns: see [below](#lanesname-and-clientsname)",
      restart: "envelopes wait in the order that was in force when the line was read")
    Key(
      patterns: "clients", \.clients, of: "client",
      "what is particular about clients: see [below](#lanesname-and-clientsname)")
    Key(
      "collections", \.collections,
      "names to arrays of tags, as in `{\"boot\": [\"settings\", \"profile\"]}`",
      "what a run may name together",
      read: { configuration, reader in
        reader.section("collections") { configuration.collections = $0.readCollections() }
      },
      write: { configuration, json in
        json.memberObject("collections") { json in
          for collection in configuration.collections {
            json.memberArray(collection.name) { json in
              for tag in collection.tags { json.string(tag) }
            }
          }
        }
      })
    Key(
      section: "limits", \.limits,
      "what a sender, and all of them together, may use: see [below](#limits)")
    Key(section: "retention", \.retention)
    Key(section: "events", \.events)
    Key(section: "audit", \.audit)
    Key(section: "notify", \.notify)
    Key(section: "receipts", \.receipts, from: ReceiptsConfiguration())
    Key(
      section: "clock", \.clock, restart: "the clock is taken up once, at the start")
    Key(
      section: "tracing", \.tracing,
      "where spans are exported to, and which: see [below](#tracing)")
    Key(section: "log", \.log)
    Key(
      "shutdownGraceSeconds", \.shutdownGraceSeconds, .integer(0...86_400),
      "how long attempts in flight may go on after SIGTERM")
  }
}

extension Configuration: CustomStringConvertible {
  /// The configuration in force, in the file's own form, with what might be secret hidden.
  package var description: String {
    var writer = JSONWriter(pretty: true)
    writer.object { writeMembers(to: &$0) }
    return String(decoding: writer.finish(), as: UTF8.self)
  }
}
