import EventLoop
import RelayCore
import RelayServer

/// `waystation keys`: shows the keys that sign receipts, puts a new one in place of the present
/// one, and notes that devices know them.
///
/// It works on their folder, whether a relay runs or not. Where no configuration is named, that is
/// the usual one of the data folder, so that the keys can be shown without the relay's secrets.
enum KeysCommand {
  static func run(_ order: KeysOrder) -> ExitCode {
    let source =
      switch order {
      case .list(let source), .rotate(let source), .accept(let source): source
      }
    do throws(ConfigurationSource.Failure) {
      let variables = try source.variables(over: Environment.variables()) { sentence in
        StandardStream.error.line("warning: \(sentence)")
      }
      let configuration = try source.load(environment: variables, needsUpstream: false)
      let usual = configuration.origin == nil ? configuration.usualReceiptKeysFolder : nil
      guard let path = configuration.receiptKeysFolder ?? usual else {
        StandardStream.error.line(
          "waystation keys: the configuration has no \"receipts\", so the relay signs nothing")
        return .failed
      }
      let isShared = configuration.store.postgres != nil
      return run(order, on: KeyFolder(path), ofSeveralRelays: isShared)
    } catch {
      error.report()
      return .failed
    }
  }

  private static func run(
    _ order: KeysOrder, on folder: KeyFolder, ofSeveralRelays isShared: Bool
  ) -> ExitCode {
    do throws(KeyFolderError) {
      switch order {
      case .list: try list(folder)
      case .rotate:
        try rotate(folder)
        if isShared { tellOfOthers() }
      case .accept: try accept(folder)
      }
      return .good
    } catch {
      StandardStream.error.line("waystation keys: \(error)")
      return .failed
    }
  }

  private static func list(_ folder: KeyFolder) throws(KeyFolderError) {
    guard let (ring, strangeSince) = try folder.state() else {
      return StandardStream.output.line(
        "\(folder.path) holds no keys yet: the relay makes the first one when it starts; if it has,"
          + " name its configuration by --config, or its data folder by --data")
    }
    let terminal = Terminal.current(Environment.variables())
    for line in table(of: ring).lines(on: terminal) { StandardStream.output.line(line) }
    guard let strangeSince else { return }
    StandardStream.output.line(
      "since \(RFC3339.format(strangeSince)) devices may not know these keys: tell them of the"
        + " first one, and run 'waystation keys accept'")
  }

  /// The table for people.
  static func table(of ring: KeyRing) -> TextTable {
    var table = TextTable("KID", "SINCE", "UNTIL", "ENDORSED BY")
    var former: RingKey?
    for key in ring.keys {
      table.add(
        .init(key.id), .init(moment(key.sinceSeconds)),
        .init(key.untilSeconds.map(moment) ?? "present"), .init(former?.id ?? "the first one"))
      former = key
    }
    return table
  }

  private static func moment(_ seconds: Int64) -> String {
    RFC3339.format(WallTime(millisecondsSinceEpoch: seconds * 1000))
  }

  private static func rotate(_ folder: KeyFolder) throws(KeyFolderError) {
    let ring = try folder.rotate(at: WallClock.now())
    let former = ring.keys[ring.keys.count - 2]
    StandardStream.output.line("the present key is \(ring.present.id)")
    StandardStream.output.line("\(former.id) has signed it, and is retired")
    StandardStream.output.line(
      "a running relay takes it up at SIGHUP, and signs with the old one until then")
  }

  /// Each relay of a store has the folder on its own machine.
  private static func tellOfOthers() {
    StandardStream.output.line(
      "copy the folder to the other relays of this store, and send each a SIGHUP: one that takes"
        + " the store with the old folder signs with the retired key")
  }

  private static func accept(_ folder: KeyFolder) throws(KeyFolderError) {
    let (ring, strangeSince) = try folder.accept()
    guard let strangeSince else {
      return StandardStream.output.line("there was no doubt that devices know \(ring.keys[0].id)")
    }
    StandardStream.output.line(
      "devices know \(ring.keys[0].id), which they might not have since"
        + " \(RFC3339.format(strangeSince))")
    StandardStream.output.line("a running relay takes note of it at SIGHUP")
  }
}
