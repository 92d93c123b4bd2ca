import Foundation
import Testing

extension EndToEnd {
  /// `examples/sync.py` before a real relay, or before none.
  @Suite("The loop in examples/sync.py", .serialized, .ofNoStore)
  struct SyncExample {
    private let folder: TemporaryFolder
    private var file: String { folder.path + "/envelopes" }

    init() throws { folder = try TemporaryFolder() }

    private func start(_ port: UInt16, _ lines: String...) throws -> ChildProcess {
      if !lines.isEmpty {
        try Data(lines.joined(separator: "\n").utf8).write(to: URL(fileURLWithPath: file))
      }
      return try ChildProcess(
        "python3", [ShellDocument.repository + "/examples/sync.py", file],
        environment: [
          "WAYSTATION_SERVER": "http://127.0.0.1:\(port)", "WAYSTATION_CLIENT": "device-1",
        ])
    }

    @Test("all of a file is handed over in order, an answer that was lost among it, and followed")
    func followed() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(upstream)
      let (port, calls) = (relay.port, Monitor(0))
      // The first answer is lost, and the second call is another's to answer.
      let front = try TestUpstream { request in
        let answer = Behaviour.passed(request, to: port)
        return switch calls.change({ ($0, $0 += 1).0 }) {
        case 0: .cut
        case 1: .answer(200, body: Array("<html>Welcome to our network</html>".utf8))
        default: answer
        }
      }
      let syncing = try start(
        front.port, #"{"key":"a","path":"/1","body":{"n":1}}"#, #"{"key":"b","path":"no"}"#,
        #"{"key":"c","path":"/2"}"#)
      #expect(try await syncing.ending(seconds: 60) == .exit(1), "\(syncing.errors)")
      #expect(syncing.keys("duplicate") == ["a", "c"], "\(syncing.output)")
      #expect(syncing.keys("refused") == ["b"])
      // At the first check-in of a client what ends just then may come first.
      #expect(syncing.keys("ended").sorted() == ["a", "c"], "\(syncing.output)")
      #expect(upstream.received.map(\.target) == ["/1", "/2"])
      // What it has seen is not told again, and what is taken is not sent again.
      let again = try start(port)
      #expect(try await again.ending() == .exit(1) && again.output.isEmpty, "\(again.output)")
      #expect(upstream.received.count == 2)
    }

    @Test("a lane that is blocked is told, and ends the loop")
    func blocked() async throws {
      let upstream = try TestUpstream { $0.target == "/bad" ? .answer(422) : .answer(200) }
      let relay = try await Relay.started(upstream)
      let syncing = try start(
        relay.port, #"{"key":"a","path":"/bad","lane":"b","onFailure":"block"}"#,
        #"{"key":"c","path":"/1"}"#)
      #expect(try await syncing.ending(seconds: 60) == .exit(1), "\(syncing.errors)")
      #expect(syncing.output.hasSuffix("blocked b a the upstream answered 422\n"))
      #expect(syncing.keys("ended") == ["c"])
      let paths = upstream.received.map(\.target).sorted()
      #expect(paths == ["/1", "/bad"], "\(paths)")
    }

    @Test("a device that the relay refuses stops, and says why")
    func refused() async throws {
      let front = try TestUpstream { _ in .problem(401, "unauthenticated") }
      let syncing = try start(front.port, #"{"key":"a","path":"/1"}"#)
      #expect(try await syncing.ending() == .exit(2) && syncing.errors.contains("unauthenticated"))
    }
  }
}
