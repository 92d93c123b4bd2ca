import EventLoop
import Forwarder
import Glibc
import RelayCore
import Testing

@Suite("What the upstream gets", .timeLimit(.minutes(5)))
struct SentBytesTests {
  @Test("the request is the sender's, byte for byte, and libcurl adds nothing")
  func wholeRequest() async throws {
    let path = "/a/...b//%25zz%2F;p?x=%00&%zz&y=?z;+~'|{}[../]@\"<>^`"
    let (upstream, seen) = try recorder()
    let target = try UpstreamTarget.test(upstream.url + "/base/")
    var block = HeaderBlock()
    block.append(name: "x-ODD", value: "a,  b;\tc")
    block.append(name: "X-Latin".utf8, value: [0xE9, 0xFF])
    block.append(name: "X-Empty", value: "")
    var attempt = request(target, "BREW", path)
    attempt.content.headers = block
    #expect(try await Attempts().run(attempt).response?.status == 200)
    let expected =
      Array("BREW /base\(path) HTTP/1.1\r\nHost: 127.0.0.1:\(upstream.port)\r\n".utf8)
      + Array("x-ODD: a,  b;\tc\r\nX-Latin: ".utf8) + [0xE9, 0xFF]
      + Array("\r\nX-Empty:\r\nVia: 1.1 waystation\r\nIdempotency-Key: \(exampleID)\r\n".utf8)
      + Array("Waystation-Attempt: 3\r\nWaystation-Accepted-At: 2023-11-14T22:13:20.000Z\r\n".utf8)
      + Array("Waystation-Client: device-7\r\n\r\n".utf8)
    #expect(seen.all.map(\.head) == [expected])
  }

  @Test(
    "a body of every byte value arrives whole, whatever the method",
    arguments: ["POST", "PUT", "PATCH", "DELETE", "GET", "REPORT", "HEAD"])
  func bodyOfAnyBytes(method: String) async throws {
    let (upstream, seen) = try recorder()
    let body = (0..<4096).map { UInt8(truncatingIfNeeded: $0) }
    let event = try await Attempts().run(
      request(.test(upstream.url), method, body: .inline(body)))
    #expect(event.response?.status == 200)
    let sent = try #require(seen.all.first)
    #expect(sent.body == body)
    #expect(sent.line == "\(method) / HTTP/1.1")
    #expect(sent.values("content-length") == ["4096"])
    #expect(sent.values("content-type") == [])
    #expect(sent.values("expect") == [])
  }

  @Test(
    "a body of several megabytes arrives whole, without asking leave first",
    arguments: [1_048_577, 5_000_000])
  func largeBody(count: Int) async throws {
    let (upstream, seen) = try recorder()
    let body = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    _ = try await Attempts().run(request(.test(upstream.url), "POST", body: .inline(body)))
    #expect(seen.all.first?.body == body)
    #expect(seen.all.first?.values("expect") == [])
  }

  @Test(
    "a request without a body says so only where one is to be expected",
    arguments: [
      ("POST", ["0"]), ("PUT", ["0"]), ("PATCH", ["0"]), ("GET", []), ("DELETE", []), ("HEAD", []),
      ("OPTIONS", []),
    ])
  func noBody(method: String, lengths: [String]) async throws {
    let (upstream, seen) = try recorder()
    let event = try await Attempts().run(request(.test(upstream.url), method))
    #expect(event.response?.status == 200)
    #expect(seen.all.first?.line == "\(method) / HTTP/1.1")
    #expect(seen.all.first?.values("content-length") == lengths)
  }

  @Test("handles that are used again carry nothing over from the request before")
  func nothingCarriedOver() async throws {
    let (upstream, seen) = try recorder()
    let target = try UpstreamTarget.test(upstream.url)
    let attempts = try Attempts()
    let big = EnvelopeBody.inline([UInt8](repeating: 7, count: 3000))
    _ = try await attempts.run(
      request(target, "PUT", "/long/path?q", headers: [("A", "1")], body: big))
    _ = try await attempts.run(request(target, "HEAD"))
    _ = try await attempts.run(request(target, "POST", "/2"))
    _ = try await attempts.run(request(target, "GET", "/3"))
    #expect(
      seen.all.map(\.line) == [
        "PUT /long/path?q HTTP/1.1", "HEAD / HTTP/1.1", "POST /2 HTTP/1.1", "GET /3 HTTP/1.1",
      ])
    #expect(seen.all.map { $0.values("content-length") } == [["3000"], [], ["0"], []])
    #expect(seen.all.map { $0.values("a") } == [["1"], [], [], []])
  }

  @Test("the upstream's own fields replace the sender's")
  func fixedFields() async throws {
    let (upstream, seen) = try recorder()
    var fixed = HeaderBlock()
    fixed.append(name: "Authorization", value: "Bearer secret")
    let target = try UpstreamTarget.test(upstream.url, headers: fixed)
    _ = try await Attempts().run(request(target, headers: [("Authorization", "Basic own")]))
    #expect(seen.all.first?.values("authorization") == ["Bearer secret"])
  }

  @Test("cookies are the sender's affair: none is kept from one request for the next")
  func noCookies() async throws {
    let (upstream, seen) = try recorder("Set-Cookie: a=b\r\n")
    let target = try UpstreamTarget.test(upstream.url)
    let attempts = try Attempts()
    let first = try await attempts.run(request(target))
    #expect(first.response?.headers.first("set-cookie") == "a=b")
    _ = try await attempts.run(request(target, headers: [("Cookie", "c=d")]))
    #expect(seen.all.map { $0.values("cookie") } == [[], ["c=d"]])
  }

  @Test(
    "a request that would break out of its line is not sent",
    arguments: ["/a b", "/\r\nX: y", "/../x"])
  func brokenTarget(path: String) async throws {
    let (upstream, seen) = try recorder()
    let event = try await Attempts().run(request(.test(upstream.url), "GET", path))
    guard case .unsendable = event else {
      Issue.record("\(event)")
      return
    }
    #expect(seen.all.isEmpty)
  }
}

@Suite("Bodies from files", .timeLimit(.minutes(5)))
struct FileBodyTests {
  @Test("a file arrives whole", arguments: [1, 65536, 3_000_001])
  func whole(count: Int) async throws {
    let (upstream, seen) = try recorder()
    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }
    let file = try TemporaryFile(bytes)
    let event = try await Attempts().run(
      request(.test(upstream.url), "PUT", body: .file(file.stored)))
    #expect(event.response?.status == 200)
    #expect(seen.all.first?.body == bytes)
    #expect(seen.all.first?.values("transfer-encoding") == [])
  }

  @Test("a file is sent again from its beginning when a kept connection turns out to be dead")
  func rewound() async throws {
    let seen = Log<RawRequest>()
    let upstream = try RawUpstream { connection in
      // Each connection serves one request, and says nothing of its being the last.
      guard let request = connection.readRequest() else { return }
      seen.add(request)
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
      // The next request's first bytes meet a reset.
      _ = connection.readHead()
      connection.reset()
    }
    let target = try UpstreamTarget.test(upstream.url)
    let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0) }
    let file = try TemporaryFile(bytes)
    let attempts = try Attempts()
    _ = try await attempts.run(request(target))
    let event = try await attempts.run(request(target, "POST", body: .file(file.stored)))
    #expect(event.response?.status == 200 || event.failure == .cut)
    if event.response != nil { #expect(seen.all.last?.body == bytes) }
  }

  @Test("a missing file, or one of another length, is trouble of the relay's own")
  func missing() async throws {
    let (upstream, seen) = try recorder()
    let target = try UpstreamTarget.test(upstream.url)
    let file = try TemporaryFile([1, 2, 3])
    let attempts = try Attempts()
    for body in [
      StoredBodyFile(path: file.stored.path + "-not", byteCount: 3),
      StoredBodyFile(path: file.stored.path, byteCount: 4),
    ] {
      let event = try await attempts.run(request(target, "PUT", body: .file(body)))
      #expect(event.failure == .local)
      #expect(event.detail.contains("stored body"))
    }
    #expect(seen.all.isEmpty)
  }
}

/// An upstream that answers 200, and what it was sent.
func recorder(_ fields: String = "") throws -> (RawUpstream, Log<RawRequest>) {
  let seen = Log<RawRequest>()
  let upstream = try RawUpstream { connection in
    while let request = connection.readRequest() {
      seen.add(request)
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\(fields)\r\n")
    }
  }
  return (upstream, seen)
}

/// A file that is gone with its owner.
final class TemporaryFile {
  let stored: StoredBodyFile

  /// - Parameter byteCount: How long it is, if longer than the bytes: a hole behind them.
  init(_ bytes: [UInt8], byteCount: Int64 = 0) throws {
    var path = Array("/tmp/waystation-body-XXXXXX".utf8CString)
    let descriptor = mkstemp(&path)
    guard descriptor >= 0, write(descriptor, bytes, bytes.count) == bytes.count else {
      throw SystemError(code: errno, operation: "write a test's file")
    }
    let byteCount = max(byteCount, Int64(bytes.count))
    ftruncate(descriptor, off_t(byteCount))
    close(descriptor)
    stored = StoredBodyFile(
      path: String(decoding: path.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self),
      byteCount: byteCount)
  }

  deinit { unlink(stored.path) }
}
