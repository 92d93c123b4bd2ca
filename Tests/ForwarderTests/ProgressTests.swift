import Forwarder
import RelayCore
import Testing

@Suite("Progress", .timeLimit(.minutes(5)))
struct ProgressTests {
  /// Asks again and again, as long as the attempt goes on.
  private func progress(
    of attempts: Attempts, until isEnough: (AttemptProgress) -> Bool
  ) async throws -> AttemptProgress {
    while true {
      let progress = try #require(await attempts.forwarder.progress().first)
      if isEnough(progress) { return progress }
      try Task.checkCancellation()
      await Task.yield()
    }
  }

  @Test("what the upstream has not read yet counts as not sent, what it has read as sent")
  func sending() async throws {
    let gate = Gate()
    let upstream = try RawUpstream { connection in
      connection.shrinkReceiveBuffer()
      guard connection.readHead() != nil else { return }
      gate.wait()
      connection.growReceiveBuffer()
      connection.waitForEnd()
    }
    let body = [UInt8](repeating: 7, count: 1 << 20)
    let attempts = try Attempts()
    let target = try UpstreamTarget.test(upstream.url)
    attempts.forwarder.submit([request(target, "POST", body: .inline(body), serial: 5)])
    let early = try await progress(of: attempts) { $0.sentBytes > 0 }
    #expect(early.serial == 5 && early.bodyBytes == 1 << 20)
    #expect(early.sentBytes < 1 << 20 && early.receivedBytes == 0)
    gate.open()
    let late = try await progress(of: attempts) { $0.sentBytes == 1 << 20 }
    #expect(late.startedAt == early.startedAt)
  }

  @Test("what has come of the answer is told while more is to come")
  func receiving() async throws {
    let upstream = try RawUpstream { connection in
      _ = connection.readRequest()
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
      connection.waitForEnd()
    }
    let attempts = try Attempts()
    let target = try UpstreamTarget.test(upstream.url)
    attempts.forwarder.submit([request(target)])
    let seen = try await progress(of: attempts) { $0.receivedBytes > 0 }
    #expect(seen.receivedBytes == 5 && seen.sentBytes == 0 && seen.bodyBytes == 0)
  }

  @Test("of what has not begun, or has ended, there is no progress")
  func others() async throws {
    let upstream = try RawUpstream { $0.waitForEnd() }
    let target = try UpstreamTarget.test(upstream.url)
    let attempts = try Attempts()
    #expect(await attempts.forwarder.progress().isEmpty)
    attempts.forwarder.submit((1...3).map { request(target, serial: $0) })
    #expect(await attempts.forwarder.progress(of: [2, 9]).map(\.serial) == [2])
    attempts.forwarder.cancelAll()
    _ = try await attempts.ends(of: 3)
    #expect(await attempts.forwarder.progress().isEmpty)
    attempts.forwarder.shutdown()
    #expect(await attempts.forwarder.progress().isEmpty)
  }
}
