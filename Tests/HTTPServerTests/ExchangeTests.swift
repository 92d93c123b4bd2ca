import EventLoop
import HTTPServer
import Synchronization
import Testing

@Suite("What an access log is told", .timeLimit(.minutes(5)))
struct ExchangeTests {
  private final class Book: ExchangeObserver {
    let isOn: Bool
    private let told = Mutex<[Exchange]>([])

    init(isOn: Bool = true) { self.isOn = isOn }

    func ended(_ exchange: Exchange) { told.withLock { $0.append(exchange) } }

    var exchanges: [Exchange] { told.withLock { $0 } }
  }

  private final class Note: ExchangeNote {}

  @Test("each request is told of once its answer has gone out, with what went over for it")
  func counted() async throws {
    let book = Book()
    let note = Note()
    let server = try TestServer(exchanges: book) { request in
      var response = await TestServer.echo(request)
      response.note = note
      return response
    }
    let heads = [
      "POST /0 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n",
      "POST /1 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
      "GET /2 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    ]
    let bodies = ["hi", "2\r\nhi\r\n3\r\nyou\r\n0\r\n\r\n", ""]
    let answers = try await server.exchange(zip(heads, bodies).map(+).joined())
    await server.stop()
    let told = book.exchanges
    try #require(told.count == 3)
    #expect(told.map(\.status) == [200, 200, 200] && told.allSatisfy(\.isWhole))
    #expect(
      told.map(\.receivedBytes)
        == zip(heads, [2, 5, 0]).map { Int64($0.utf8.count + $1) })
    #expect(told.map(\.sentBytes).reduce(0, +) == Int64(answers.utf8.count))
    #expect(told.allSatisfy { $0.note === note && $0.durationUs ?? -1 >= 0 && $0.problem == nil })
    #expect(
      told.compactMap { $0.head.map { String(decoding: $0.path, as: UTF8.self) } }
        == ["/0", "/1", "/2"])
  }

  @Test("so is what the server refuses by itself, with the head where there is one")
  func refused() async throws {
    let book = Book()
    var limits = HTTPLimits()
    limits.bodyBytesMax = 10
    let server = try TestServer(limits, exchanges: book)
    _ = try await server.exchange("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\n")
    _ = try await server.exchange("GET / HTTP/1.1\r\nbroken\r\n\r\n")
    let chunks = "b\r\n01234567890\r\n0\r\n\r\n"
    _ = try await server.exchange(
      "POST /y HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks)
    await server.stop()
    let told = book.exchanges
    #expect(told.map(\.status) == [413, 400, 413])
    #expect(told.map(\.problem) == [.bodyTooLarge, .malformedRequest, .bodyTooLarge])
    #expect(told.map { $0.head != nil } == [true, false, true])
    #expect(told.map { $0.durationUs != nil } == [false, false, true])
  }

  @Test("so is what is given up; a connection on which nothing was asked is no request")
  func givenUp() async throws {
    let book = Book()
    let server = try TestServer(exchanges: book)
    for text in [
      "", "GET /half HTTP/1.1\r\n",
      "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx",
    ] {
      let client = try await server.connect()
      if !text.isEmpty { try await client.send(text) }
      client.socket.shutdownWrites()
      _ = try await client.readToEnd()
    }
    await server.stop()
    #expect(book.exchanges.map(\.status) == [nil, nil])
    #expect(book.exchanges.map { $0.head != nil } == [false, true])
    #expect(book.exchanges.allSatisfy { !$0.isWhole && $0.sentBytes == 0 })
  }

  @Test("nothing is told while it is off")
  func off() async throws {
    let book = Book(isOn: false)
    let server = try TestServer(exchanges: book)
    _ = try await server.exchange("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    await server.stop()
    #expect(book.exchanges.isEmpty)
  }
}
