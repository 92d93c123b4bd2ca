import Compression
import Foundation
import Synchronization
import Testing
import WaystationOutbox
import WaystationOutboxFoundation

extension EndToEnd {
  @Suite("An outbox's requests by URLSession", .serialized, .ofNoStore)
  struct OutboxSessionTransports {
    private static func exchange(
      _ method: String, _ url: String, _ body: ExchangeBody = .none,
      headers: [(String, String)] = []
    ) -> Exchange {
      Exchange(method: method, url: url, headers: headers, body: body, timeout: .seconds(20))
    }

    /// The failure of a request; nil if there is an answer.
    private static func failure(
      _ exchange: Exchange, _ transport: URLSessionTransport = URLSessionTransport()
    ) async -> ConnectionFailure? {
      do throws(ConnectionFailure) {
        _ = try await transport.send(exchange) { _ in }
        return nil
      } catch {
        return error
      }
    }

    @Test("a request goes out as it is")
    func asItIs() async throws {
      let upstream = try TestUpstream { _ in
        .answer(200, fields: [WireField(name: "X-Answer", value: "42")], body: Array("yes".utf8))
      }
      let transport = URLSessionTransport()
      let answer = try await transport.send(
        Self.exchange(
          "PATCH", upstream.url + "/a/%41/b?c=d%2F", .bytes(Array("body".utf8)),
          headers: [
            ("Authorization", "Bearer t"), ("X-Empty", ""), ("X-One", "1"), ("x-one", "2"),
          ])
      ) { _ in }
      #expect(answer.status == 200 && answer.body == Array("yes".utf8) && !answer.isCut)
      #expect(answer.header("x-answer") == "42")
      let request = try #require(upstream.received.first)
      #expect(request.method == "PATCH" && request.target == "/a/%41/b?c=d%2F")
      #expect(request.body == Array("body".utf8))
      #expect(request["Authorization"] == "Bearer t" && request["X-Empty"] == "")
      #expect(request["X-One"] == "1, 2" && request["Accept-Encoding"] == "identity")
      #expect(request["Content-Type"] == nil && request["Expect"] == nil)
      _ = try await transport.send(Self.exchange("POST", upstream.url)) { _ in }
      let empty = try #require(upstream.received.last)
      #expect(empty["Content-Length"] == "0" && empty["Content-Type"] == nil)
    }

    @Test("a HEAD is answered without a body, and the connection serves the next request")
    func kept() async throws {
      let upstream = try TestUpstream { _ in
        .answer(200, fields: [WireField(name: "Upload-Offset", value: "7")], body: [1, 2, 3])
      }
      let transport = URLSessionTransport()
      for method in ["HEAD", "GET", "DELETE", "HEAD", "POST"] {
        let answer = try await transport.send(Self.exchange(method, upstream.url + "/1")) { _ in }
        #expect(answer.body == (method == "HEAD" ? [] : [1, 2, 3]))
        #expect(answer.header("upload-offset") == "7")
      }
      #expect(upstream.connectionCount == 1)
    }

    @Test("a redirect is an answer, and nothing of an answer goes into a later request")
    func nothingKept() async throws {
      let upstream = try TestUpstream { request in
        let cookie = WireField(name: "Set-Cookie", value: "a=b; Path=/")
        guard request.target == "/moved" else {
          let fresh = WireField(name: "Cache-Control", value: "max-age=3600")
          return .answer(200, fields: [cookie, fresh], body: Array("fresh".utf8))
        }
        let place = WireField(name: "Location", value: "/other")
        return .answer(307, fields: [place, cookie], body: Array("over there".utf8))
      }
      let transport = URLSessionTransport()
      let paths = ["/moved", "/fresh", "/fresh"]
      var answers: [Response] = []
      for path in paths {
        let exchange = Self.exchange("GET", upstream.url + path)
        answers.append(try await transport.send(exchange) { _ in })
      }
      #expect(answers.map(\.status) == [307, 200, 200])
      let bodies = answers.map { String(decoding: $0.body, as: UTF8.self) }
      #expect(bodies == ["over there", "fresh", "fresh"])
      #expect(answers[0].header("location") == "/other")
      let received = upstream.received
      #expect(received.map(\.target) == paths && received.allSatisfy { $0["Cookie"] == nil })
    }

    @Test(
      "an answer that asks for a password is an answer like others",
      arguments: [
        "Bearer", #"Bearer realm="a", error="invalid_token""#, #"Basic realm="a""#,
        #"Digest realm="a", nonce="1""#, "Odd", "",
      ])
    func refused(scheme: String) async throws {
      let upstream = try TestUpstream { _ in
        let asked = WireField(name: "WWW-Authenticate", value: scheme)
        return .answer(401, fields: scheme.isEmpty ? [] : [asked], body: Array("who".utf8))
      }
      let transport = URLSessionTransport()
      for method in ["POST", "GET", "HEAD"] {
        let exchange = Self.exchange(
          method, upstream.url, headers: [("Authorization", "Bearer old")])
        let answer = try await transport.send(exchange) { _ in }
        #expect(answer.status == 401)
        #expect(answer.body == (method == "HEAD" ? [] : Array("who".utf8)))
      }
      #expect(
        upstream.received.map { $0["Authorization"] } == ["Bearer old", "Bearer old", "Bearer old"])
    }

    @Test("an answer that comes compressed all the same is handed over as it was before")
    func packed() async throws {
      let text = Array(String(repeating: "reading ", count: 1000).utf8)
      let packed = try GzipEncoder.encode(text)
      let upstream = try TestUpstream { _ in
        .answer(200, fields: [WireField(name: "Content-Encoding", value: "gzip")], body: packed)
      }
      let answer = try await URLSessionTransport().send(
        Self.exchange("GET", upstream.url)
      ) { _ in }
      #expect(answer.body == text && answer.header("content-encoding") == nil)
    }

    @Test("a longer answer than is of use is cut")
    func cut() async throws {
      let body = Uploader.photo(4 << 20)
      let upstream = try TestUpstream { _ in .answer(200, body: body) }
      var exchange = Self.exchange("GET", upstream.url)
      exchange.responseBytesMax = 100_000
      let transport = URLSessionTransport()
      let answer = try await transport.send(exchange) { _ in }
      #expect(answer.status == 200 && answer.isCut && answer.body == Array(body[..<100_000]))
      exchange.responseBytesMax = 4 << 20
      let whole = try await transport.send(exchange) { _ in }
      #expect(!whole.isCut && whole.body == body)
    }

    @Test(
      "a file, or a stretch of it, is sent and told while it goes",
      arguments: [(0, 3 << 20), (1000, 2 << 20)])
    func file(offset: Int, count: Int) async throws {
      let upstream = try TestUpstream()
      let folder = try TemporaryFolder()
      let bytes = Uploader.photo(3 << 20)
      let path = folder.path + "/file"
      try Data(bytes).write(to: URL(fileURLWithPath: path))
      let told = Mutex<[WaystationOutbox.Progress]>([])
      let body = ExchangeBody.file(
        FileStretch(path: path, offset: Int64(offset), count: Int64(count)))
      let exchange = Self.exchange(
        "PUT", upstream.url, body, headers: [("Content-Type", "image/jpeg")])
      _ = try await URLSessionTransport().send(exchange) { progress in
        told.withLock { $0.append(progress) }
      }
      let request = try #require(upstream.received.first)
      #expect(request.body == Array(bytes[offset..<(offset + count)]))
      #expect(request["Content-Length"] == "\(count)")
      let progress = told.withLock { $0 }
      #expect(progress.map(\.sent) == progress.map(\.sent).sorted())
      #expect(progress.last?.sent == Int64(count))
      #expect(progress.allSatisfy { $0.total == Int64(count) })
    }

    @Test("only what cannot have been written has surely not arrived")
    func arrival() async throws {
      let upstream = try TestUpstream { request in
        switch request.target {
        case "/cut": .cut
        case "/half": .bytes("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf of it")
        default: .never
        }
      }
      let nobody = "http://127.0.0.1:\(try ReservedPort.kept())"
      for url in [nobody, "http://nobody.invalid", "ftp://127.0.0.1", "http://", nobody + "/a b"] {
        let failure = await Self.failure(Self.exchange("POST", url, .bytes([1])))
        #expect(failure?.mayHaveArrived == false, "\(url): \(String(describing: failure))")
      }
      for path in ["/cut", "/half"] {
        let failure = await Self.failure(Self.exchange("POST", upstream.url + path, .bytes([1])))
        #expect(failure?.mayHaveArrived == true, "\(path): \(String(describing: failure))")
      }
      var late = Self.exchange("POST", upstream.url + "/never", .bytes([1]))
      late.timeout = .milliseconds(300)
      let failure = await Self.failure(late)
      #expect(failure?.mayHaveArrived == true && failure?.reason.contains("0.3 seconds") == true)
      var shown = Self.exchange("GET", upstream.url)
      shown.identity = .pem(certificate: "/nowhere/a.pem", key: "/nowhere/b.pem")
      let refused = await Self.failure(shown)
      #expect(refused?.mayHaveArrived == false && refused?.reason.contains("certificate") == true)
      let missing = ExchangeBody.file(FileStretch(path: "/nowhere/body", offset: 0, count: 1))
      let unread = await Self.failure(Self.exchange("PUT", upstream.url, missing))
      #expect(unread?.mayHaveArrived == false && unread?.reason.contains("/nowhere/body") == true)
      #expect(upstream.received.map(\.target).sorted() == ["/cut", "/half", "/never"])
    }

    @Test("a cancelled task ends its request at once, and others go on")
    func cancelled() async throws {
      let upstream = try TestUpstream { $0.target == "/never" ? .never : .answer(200) }
      let transport = URLSessionTransport()
      let waiting = Task {
        await Self.failure(Self.exchange("POST", upstream.url + "/never"), transport)
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
      let early = Task {
        withUnsafeCurrentTask { $0?.cancel() }
        return await Self.failure(Self.exchange("POST", upstream.url + "/early"), transport)
      }
      #expect(await early.value?.mayHaveArrived == false)
      #expect(upstream.received.map(\.target) == ["/never", "/1"])
    }

    @Test("a server whose certificate nobody has signed that is trusted gets no request")
    func untrusted() async throws {
      let secured = try await SecuredRelay.started()
      let failure = await Self.failure(
        Self.exchange("GET", "https://127.0.0.1:\(secured.port)/v1/status"))
      #expect(failure?.reason.contains("127.0.0.1:\(secured.port)") == true)
      #expect(secured.upstream.received.isEmpty)
    }
  }
}
