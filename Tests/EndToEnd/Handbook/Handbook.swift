import Foundation
import Glibc
import Testing

/// A machine as docs/operating.md has it, whose commands run as they stand there.
///
/// `/etc`, `/var/lib` and the like are folders of the test's. `sudo` runs what it is given, nobody
/// else is made an owner of anything, and `systemctl` starts and stops the real binary.
final class Handbook: Sendable {
  let upstream: TestUpstream
  let port: UInt16
  let stand: ShellStand
  private let pages: [String: ShellDocument]

  /// What an installed relay has.
  private static let systemctl = """
    #!/bin/sh
    set -e
    begin() {
      rm -f "$STAND/ended"
      (
        if [ -f "$STAND/relay.env" ]; then . "$STAND/relay.env"; fi
        "$STAND/bin/waystation" serve --config "$STAND/etc/waystation/config.json" \\
          >"$STAND/said" 2>>"$STAND/log" &
        echo $! >"$STAND/pid"
        wait $! || true
        touch "$STAND/ended"
      ) </dev/null >/dev/null 2>&1 &
      until [ -f "$STAND/said" ] && grep -q listening "$STAND/said"; do
        if [ -f "$STAND/ended" ]; then exit 1; fi
        sleep 0.02
      done
    }
    end() {
      kill -TERM "$(cat "$STAND/pid")"
      until [ -f "$STAND/ended" ]; do sleep 0.02; done
      rm -f "$STAND/said"
    }
    case " $* " in
      *' enable --now waystation ' | *' start waystation ') begin ;;
      *' stop waystation ' | *' disable --now waystation ') end ;;
      *' restart waystation ') end; begin ;;
      *' reload waystation ') kill -HUP "$(cat "$STAND/pid")" ;;
      *) exit 64 ;;
    esac
    """
  private static let sudo = """
    #!/bin/sh
    if [ "$1" = -u ]; then shift 2; fi
    exec "$@"
    """

  /// Makes the machine, with nothing on it but the programs.
  ///
  /// - Parameter upstreamMore: What the relay's configuration says of its upstream besides its URL.
  init(upstreamMore: String = "") throws {
    upstream = try TestUpstream()
    port = try ReservedPort.kept()
    stand = try ShellStand()
    pages = [
      "operating": try ShellDocument("docs/operating.md"),
      "configuration": try ShellDocument("docs/configuration.md"),
    ]
    for folder in ["etc/waystation", "var", "backup"] {
      try FileManager.default.createDirectory(
        atPath: stand.folder.path + "/" + folder, withIntermediateDirectories: true)
    }
    try stand.install("systemctl", Self.systemctl)
    try stand.install("sudo", Self.sudo)
    try stand.install("chown", "#!/bin/sh\n")
    try stand.install("journalctl", "#!/bin/sh\ncat \"$STAND/log\"\n")
    let binary = stand.folder.path + "/bin/waystation"
    try FileManager.default.createSymbolicLink(
      atPath: binary, withDestinationPath: Waystation.path)
    stand.replace("127.0.0.1:8080", by: "127.0.0.1:\(port)")
    let retry = #""retry": {"firstDelayMs": 20, "maxDelayMs": 200}"#
    stand.replace(
      #""https://api.example.com""#, by: #""\#(upstream.url)", \#(retry)\#(upstreamMore)"#)
    stand.replace("/etc/waystation", by: stand.folder.path + "/etc/waystation")
    stand.replace("/var/lib/waystation", by: data)
    stand.replace("/backup/", by: stand.folder.path + "/backup/")
    stand.replace("/usr/local/bin/", by: stand.folder.path + "/bin/")
    stand.set("WAYSTATION_SERVER", "http://127.0.0.1:\(port)")
  }

  deinit {
    let number = (try? String(contentsOfFile: stand.folder.path + "/pid", encoding: .utf8)) ?? ""
    let isOver = FileManager.default.fileExists(atPath: stand.folder.path + "/ended")
    if let number = pid_t(number.trimmingCharacters(in: .newlines)), !isOver {
      Glibc.kill(number, SIGKILL)
    }
  }

  /// The data folder.
  var data: String { stand.folder.path + "/var/waystation" }

  /// The first operator's token; empty before there is one.
  var token: String {
    let made = try? String(contentsOfFile: stand.folder.path + "/first-operator", encoding: .utf8)
    return made?.split { $0 == " " || $0 == "\n" }.dropFirst().first.map(String.init) ?? ""
  }

  /// The blocks under a heading.
  func blocks(
    _ heading: String, of page: String = "operating", count: Int = 1
  ) throws -> [String] {
    let blocks = try #require(pages[page]).blocks(under: heading)
    try #require(blocks.count == count, "\(heading): its test has to follow")
    return blocks
  }

  /// A machine on which the relay was installed by the handbook, and runs.
  static func installed(upstreamMore: String = "") async throws -> Handbook {
    let book = try Handbook(upstreamMore: upstreamMore)
    try await book.stand.run(book.blocks("The first start", count: 2)[0])
    book.stand.set("WAYSTATION_TOKEN", book.token)
    return book
  }

  /// Posts an envelope of the client `truck-7` by the command, and returns its id.
  func send(_ path: String, _ more: String = "") async throws -> String {
    let answer = try await stand.run(
      "waystation send --client truck-7 --path \(path) \(more) --json")
    let json = try JSONSerialization.jsonObject(with: Data(answer.utf8)) as? [String: Any]
    return try #require(json?["id"] as? String)
  }

  /// Waits until an envelope is in some state.
  func envelope(_ id: String, is state: String) async throws {
    try await eventually("\(id) in state \(state)") { [stand] in
      try await stand.run("waystation envelopes show \(id) --json").contains(
        #""state":"\#(state)""#) ? true : nil
    }
  }
}
