import Compression
import Foundation
import Synchronization
import Testing
import WaystationOutbox
import WaystationOutboxCurl

extension EndToEnd {
  @Suite("An outbox's requests by libcurl", .serialized, .ofNoStore)
  struct OutboxTransports {
    private static func exchange(
      _ method: String, _ url: String, _ body: ExchangeBody = .none,
      headers: [(String, String)] = []
    ) -> Exchange {
      Exchange(method: method, url: url, headers: headers, body: body, timeout: .seconds(20))
    }

    /// The failure of a request; nil if there is an answer.
    private static func failure(_ transport: CurlTransport, _ exchange: Exchange) async
      -> ConnectionFailure?
    {
      do throws(ConnectionFailure) {
        _ = try await transport.send(exchange) { _ in }
        return nil
      } catch {
        return error
      }
    }

    @Test("a request goes out as it is, and says of itself nothing more")
    func asItIs() async throws {
      let upstream = try TestUpstream { _ in
        .answer(200, fields: [WireField(name: "X-Answer", value: "42")], body: Array("yes".utf8))
      }
      let transport = CurlTransport()
      let answer = try await transport.send(
        Self.exchange(
          "PATCH", upstream.url + "/a/%41/b?c=d", .bytes(Array("body".utf8)),
          headers: [("X-Empty", ""), ("X-One", "1")])
      ) { _ in }
      #expect(answer.status == 200 && answer.body == Array("yes".utf8) && !answer.isCut)
      #expect(answer.header("x-answer") == "42")
      let request = try #require(upstream.received.first)
      #expect(request.method == "PATCH" && request.target == "/a/%41/b?c=d")
      #expect(request.body == Array("body".utf8))
      #expect(request["X-Empty"] == "" && request["X-One"] == "1")
      for name in ["Accept-Encoding", "Content-Type", "Expect", "User-Agent"] {
        #expect(request[name] == nil, "\(name)")
      }
      _ = try await transport.send(Self.exchange("POST", upstream.url)) { _ in }
      #expect(upstream.received.last?["Content-Length"] == "0")
    }

    @Test("a HEAD is answered without a body, and the connection serves the next request")
    func kept() async throws {
      let upstream = try TestUpstream { _ in
        .answer(200, fields: [WireField(name: "Upload-Offset", value: "7")], body: [1, 2, 3])
      }
      let transport = CurlTransport()
      for method in ["HEAD", "GET", "DELETE", "HEAD", "POST"] {
        let answer = try await transport.send(Self.exchange(method, upstream.url + "/1")) { _ in }
        #expect(answer.body == (method == "HEAD" ? [] : [1, 2, 3]))
        #expect(answer.header("upload-offset") == "7")
      }
      #expect(upstream.connectionCount == 1)
    }

    @Test("a connection that nobody uses is closed after a while")
    func idle() async throws {
      let server = try RawServer()
      var options = CurlTransport.Options()
      options.idleTimeout = .milliseconds(50)
      let transport = CurlTransport(options)
      async let answered = transport.send(Self.exchange("GET", server.url)) { _ in }
      let isEnded = try await server.answersOnceAndSeesTheEnd()
      #expect(try await answered.status == 204 && isEnded)
      _ = transport
    }

    @Test("a longer answer than is of use is cut")
    func cut() async throws {
      let body = Uploader.photo(1 << 20)
      let upstream = try TestUpstream { _ in .answer(200, body: body) }
      var exchange = Self.exchange("GET", upstream.url)
      exchange.responseBytesMax = 100_000
      let transport = CurlTransport()
      let answer = try await transport.send(exchange) { _ in }
      #expect(answer.status == 200 && answer.isCut && answer.body == Array(body[..<100_000]))
      exchange.responseBytesMax = 1 << 20
      let whole = try await transport.send(exchange) { _ in }
      #expect(!whole.isCut && whole.body == body)
    }

    @Test("a stretch of a file is sent, and told while it goes")
    func stretch() async throws {
      let upstream = try TestUpstream()
      let folder = try TemporaryFolder()
      let bytes = Uploader.photo(3 << 20)
      let path = folder.path + "/file"
      try Data(bytes).write(to: URL(fileURLWithPath: path))
      let told = Mutex<[WaystationOutbox.Progress]>([])
      let exchange = Self.exchange(
        "PUT", upstream.url, .file(FileStretch(path: path, offset: 1000, count: 2 << 20)))
      _ = try await CurlTransport().send(exchange) { progress in
        told.withLock { $0.append(progress) }
      }
      #expect(upstream.received.first?.body == Array(bytes[1000..<(1000 + 2 << 20)]))
      let progress = told.withLock { $0 }
      #expect(progress.map(\.sent) == progress.map(\.sent).sorted())
      #expect(progress.last?.sent == 2 << 20 && progress.allSatisfy { $0.total == 2 << 20 })
      let beyond = Self.exchange(
        "PUT", upstream.url, .file(FileStretch(path: path, offset: 2 << 20, count: 2 << 20)))
      let failure = await Self.failure(CurlTransport(), beyond)
      #expect(failure?.mayHaveArrived == false && failure?.reason.contains("body") == true)
    }

    @Test("only what cannot have been written has surely not arrived")
    func arrival() async throws {
      var options = CurlTransport.Options()
      options.connectTimeout = .milliseconds(500)
      let transport = CurlTransport(options)
      let silent = try TestUpstream { $0.target == "/cut" ? .cut : .never }
      let secure = silent.url.replacingOccurrences(of: "http:", with: "https:")
      let nobody = "http://127.0.0.1:\(try ReservedPort.kept())"
      for url in [nobody, "http://nobody.invalid", "ftp://127.0.0.1", nobody + "/a b"] {
        #expect(await Self.failure(transport, Self.exchange("GET", url))?.mayHaveArrived == false)
      }
      // The server waits for a request, and the handshake never ends.
      let handshake = await Self.failure(transport, Self.exchange("POST", secure))
      #expect(handshake?.mayHaveArrived == false, "\(String(describing: handshake))")
      var late = Self.exchange("POST", silent.url + "/never", .bytes([1]))
      late.timeout = .milliseconds(300)
      #expect(await Self.failure(transport, late)?.mayHaveArrived == true)
      let cut = await Self.failure(transport, Self.exchange("POST", silent.url + "/cut"))
      #expect(cut?.mayHaveArrived == true)
      var shown = Self.exchange("GET", silent.url)
      shown.identity = .keychain(label: "device")
      let refused = await Self.failure(transport, shown)
      #expect(refused?.mayHaveArrived == false && refused?.reason.contains("key chain") == true)
      shown.identity = .pem(certificate: "/nowhere/a.pem", key: "/nowhere/b.pem")
      let missing = await Self.failure(transport, shown)
      #expect(
        missing?.mayHaveArrived == false && missing?.reason.contains("/nowhere/a.pem") == true)
    }

    @Test("nothing is sent twice where a kept connection ends without an answer")
    func once() async throws {
      let upstream = try TestUpstream { $0.target == "/2" ? .cut : .answer(200) }
      let transport = CurlTransport()
      _ = try await transport.send(Self.exchange("POST", upstream.url + "/1")) { _ in }
      let failure = await Self.failure(transport, Self.exchange("POST", upstream.url + "/2"))
      #expect(failure?.mayHaveArrived == true)
      #expect(upstream.received.map(\.target) == ["/1", "/2"])
    }

    @Test("a cancelled task ends its request at once, and others go on")
    func cancelled() async throws {
      let upstream = try TestUpstream { $0.target == "/never" ? .never : .answer(200) }
      let transport = CurlTransport()
      let waiting = Task {
        await Self.failure(transport, Self.exchange("POST", upstream.url + "/never"))
      }
      try await upstream.received(count: 1)
      let other = try await transport.send(Self.exchange("GET", upstream.url + "/1")) { _ in }
      #expect(other.status == 200)
      let begun = ContinuousClock.now
      waiting.cancel()
      let failure = await waiting.value
      // Far from the 20 seconds that the request may take.
      #expect(ContinuousClock.now - begun < .seconds(10))
      #expect(failure?.mayHaveArrived == true && failure?.reason.contains("given up") == true)
    }

    @Test("only posts to a relay that are worth it are compressed, and only if that is wanted")
    func compressed() async throws {
      let upstream = try TestUpstream()
      let text = Array(String(repeating: "reading ", count: 1000).utf8)
      var options = CurlTransport.Options()
      for compresses in [false, true] {
        options.compresses = compresses
        let transport = CurlTransport(options)
        for (path, count) in [("/v1/sync", 8000), ("/v1/sync", 1000), ("/other", 8000)] {
          _ = try await transport.send(
            Self.exchange("POST", upstream.url + path, .bytes(Array(text[..<count])))
          ) { _ in }
        }
      }
      let received = upstream.received
      #expect(
        received.map { $0["Content-Encoding"] } == [nil, nil, nil, "gzip", nil, nil])
      #expect(try GzipDecoder.decode(received[3].body, decodedBytesMax: 10_000) == text)
    }
  }
}

/// A server that answers one request, and then sees whether its connection is ended.
private final class RawServer: Sendable {
  private let listener: Int32
  private let port: UInt16

  var url: String { "http://127.0.0.1:\(port)" }

  init() throws { (listener, port) = try TestUpstream.listen(port: 0) }

  deinit { close(listener) }

  func answersOnceAndSeesTheEnd() async throws -> Bool {
    let listener = listener
    return try await onThread {
      let connection = Connection(descriptor: accept(listener, nil, nil))
      defer { connection.close() }
      _ = try connection.readRequest()
      try connection.write(Array("HTTP/1.1 204 No Content\r\n\r\n".utf8))
      return try connection.readToEnd().isEmpty
    }
  }
}
