import EventLoop
import HTTPServer
import RelayCore
import Synchronization
import Testing

@Suite("Fair turns on an event loop", .timeLimit(.minutes(5)))
struct FairnessTests {
  @Test("an answer whose peer takes all of it at once lets others have their turn in between")
  func longAnswer() async throws {
    let had = OthersTurn()
    let server = try TestServer { _ in
      HTTPResponse(
        status: 200,
        body: .stream { writer in
          // More than a turn's worth, which the kernel takes without a wait.
          let piece = [UInt8](repeating: 0x61, count: 1024)
          for loop in TestLoops.all where loop.isCurrentThread { loop.execute { had.note() } }
          for _ in 0..<96 { try await writer.write(piece) }
          try await writer.write(Array("others had a turn: \(had.isNoted)\n".utf8))
        })
    }
    let client = try await server.connect()
    try await client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    let answer = try await client.read(through: "\n\r\n0\r\n\r\n")
    #expect(answer.contains("others had a turn: true"))
    await server.stop()
  }

  /// Whether something else was run.
  private final class OthersTurn: Sendable {
    private let noted = Atomic<Bool>(false)

    var isNoted: Bool { noted.load(ordering: .sequentiallyConsistent) }

    func note() { noted.store(true, ordering: .sequentiallyConsistent) }
  }
}
