import Forwarder
import RelayCore
import Testing

@Suite("Many attempts", .timeLimit(.minutes(5)))
struct ConcurrencyTests {
  @Test("one after the other, they share a connection")
  func reuse() async throws {
    let (upstream, seen) = try recorder()
    let target = try UpstreamTarget.test(upstream.url)
    let attempts = try Attempts([target])
    for serial in 1...20 {
      let event = try await attempts.run(
        request(target, "POST", body: .inline([1, 2]), serial: Serial(serial)))
      #expect(event.response?.status == 200)
    }
    #expect(seen.all.count == 20)
    #expect(upstream.acceptCount == 1)
  }

  @Test("64 at a time, each gets its own answer, and connections are used again")
  func parallel() async throws {
    let upstream = try RawUpstream { connection in
      while let request = connection.readRequest() {
        let body = request.line + String(decoding: request.body, as: UTF8.self)
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
      }
    }
    let target = try UpstreamTarget.test(upstream.url)
    let attempts = try Attempts([target])
    for _ in 1...5 {
      let requests = (1...64).map { serial in
        request(
          target, "POST", "/\(serial)", body: .inline(Array("body \(serial)".utf8)),
          serial: Serial(serial))
      }
      let ends = try await attempts.run(requests)
      #expect(Set(ends.reports.map(\.serial)).count == 64)
      for report in ends.reports {
        let expected = "POST /\(report.serial) HTTP/1.1body \(report.serial)"
        #expect(report.event.response?.body == Array(expected.utf8))
      }
    }
    #expect(upstream.acceptCount <= 64)
  }

  @Test("a connection that died while it was idle costs no attempt its answer")
  func staleConnection() async throws {
    let upstream = try RawUpstream { connection in
      guard connection.readRequest() != nil else { return }
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    }
    let target = try UpstreamTarget.test(upstream.url)
    let attempts = try Attempts()
    for _ in 1...10 {
      let event = try await attempts.run(request(target, "POST", body: .inline([1])))
      #expect(event.response?.status == 200)
    }
  }

  @Test("an upstream that never answers holds no other one up")
  func independent() async throws {
    let silent = try RawUpstream { $0.waitForEnd() }
    let (upstream, _) = try recorder()
    let stuck = try UpstreamTarget.test(silent.url)
    let target = try UpstreamTarget.test(upstream.url)
    let attempts = try Attempts()
    attempts.forwarder.submit((100..<164).map { request(stuck, serial: $0) })
    for serial in 1...20 {
      let event = try await attempts.run(request(target, serial: Serial(serial)))
      #expect(event.response?.status == 200)
    }
  }

  @Test("an attempt that is called off is reported so, whether or not it had begun")
  func cancel() async throws {
    let upstream = try RawUpstream { $0.waitForEnd() }
    let target = try UpstreamTarget.test(upstream.url)
    let attempts = try Attempts()
    attempts.forwarder.submit((1...10).map { request(target, serial: $0) })
    attempts.forwarder.cancel([3, 5, 77])
    let some = try await attempts.ends(of: 2)
    #expect(some.serials == [3, 5] && some.reports.allSatisfy { $0.event.isBrokenOff })
    attempts.forwarder.cancelAll()
    let rest = try await attempts.ends(of: 8)
    #expect(rest.serials == [1, 2, 4, 6, 7, 8, 9, 10])
    #expect(rest.reports.allSatisfy { $0.event.isBrokenOff })
  }

  @Test(
    "what is called off does not touch what is submitted afterwards",
    arguments: [true, false])
  func cancelThenSubmit(hadBegun: Bool) async throws {
    let arrived = Gate()
    let upstream = try RawUpstream { connection in
      while let request = connection.readRequest() {
        arrived.open()
        if request.line.contains("/silent") { return connection.waitForEnd() }
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
      }
    }
    let target = try UpstreamTarget.test(upstream.url)
    let attempts = try Attempts()
    let (holding, held) = (Gate(), Gate())
    // Held up, the thread finds all of it at once. It has to be held before anything is submitted.
    if !hadBegun {
      attempts.forwarder.perform {
        holding.open()
        held.wait()
      }
      await holding.isOpen()
    }
    attempts.forwarder.submit([request(target, "GET", "/silent", serial: 1)])
    if hadBegun { await arrived.isOpen() }
    attempts.forwarder.cancelAll()
    attempts.forwarder.submit([request(target, serial: 2)])
    held.open()
    let ends = try await attempts.ends(of: 2)
    #expect(ends.withdrawn == (hadBegun ? [] : [1]))
    let reports = Dictionary(uniqueKeysWithValues: ends.reports.map { ($0.serial, $0.event) })
    #expect(reports[1]?.isBrokenOff == (hadBegun ? true : nil))
    #expect(reports[2]?.response?.status == 200)
  }

  @Test("calling off an attempt that has ended changes nothing")
  func cancelTooLate() async throws {
    let (upstream, _) = try recorder()
    let target = try UpstreamTarget.test(upstream.url)
    let attempts = try Attempts()
    _ = try await attempts.run(request(target, serial: 1))
    attempts.forwarder.cancel([1])
    #expect(try await attempts.run(request(target, serial: 2)).response?.status == 200)
  }

  @Test("shutting down calls off what is under way, and takes nothing more")
  func shutdown() async throws {
    let upstream = try RawUpstream { $0.waitForEnd() }
    let target = try UpstreamTarget.test(upstream.url)
    let attempts = try Attempts()
    attempts.forwarder.submit((1...3).map { request(target, serial: $0) })
    attempts.forwarder.shutdown()
    #expect(try await attempts.ends(of: 3).serials == [1, 2, 3])
    #expect(!attempts.forwarder.submit([request(target, serial: 4)]))
  }
}

extension AttemptBatch {
  /// Which attempts ended in one way or the other, in the order of their numbers.
  fileprivate var serials: [Serial] { (reports.map(\.serial) + withdrawn).sorted() }
}
