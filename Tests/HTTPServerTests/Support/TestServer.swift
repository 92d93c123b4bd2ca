import EventLoop
import HTTPServer
import RelayCore

/// The loops that all tests of this target share.
enum TestLoops {
  static let all: [EventLoop] = (0..<2).map { index in
    guard let loop = try? EventLoop(name: "test-\(index)") else {
      fatalError("no event loop for the tests")
    }
    return loop
  }
}

/// A server with a handler made of a closure, on a port of its own.
struct TestServer {
  struct Handler: RequestHandler {
    let body: @Sendable (HTTPRequest) async -> HTTPResponse

    func respond(to request: HTTPRequest) async -> HTTPResponse { await body(request) }
  }

  let server: HTTPServer
  let address: SocketAddress

  init(
    _ limits: HTTPLimits = HTTPLimits(), exchanges: (any ExchangeObserver)? = nil,
    handler: @escaping @Sendable (HTTPRequest) async -> HTTPResponse = TestServer.echo
  ) throws {
    server = HTTPServer(
      limits: limits, loops: TestLoops.all, handler: Handler(body: handler), exchanges: exchanges)
    address = try server.bind(.loopback(port: 0))
  }

  /// Answers with method, target and body.
  @Sendable
  static func echo(_ request: HTTPRequest) async -> HTTPResponse {
    let body = (try? await request.body.collect(upTo: 1 << 20)) ?? []
    let line = "\(request.head.method) \(String(decoding: request.head.target, as: UTF8.self)) "
    return HTTPResponse(status: 200, body: .bytes(Array(line.utf8) + body))
  }

  func connect() async throws -> TestClient {
    TestClient(try await Socket.connect(to: address, on: TestLoops.all[0]))
  }

  /// Sends some bytes and returns all that comes back until the server closes.
  func exchange(_ text: String) async throws -> String {
    let client = try await connect()
    try await client.send(text)
    return try await client.readToEnd()
  }

  func stop() async {
    await server.drain(until: MonotonicClock.now().adding(milliseconds: 2000))
  }
}

/// A bare connection: what goes out and comes in is up to the test.
// Sound: each client is used by one test's one task.
final class TestClient: @unchecked Sendable {
  private var buffer: [UInt8] = []
  let socket: Socket

  init(_ socket: Socket) { self.socket = socket }

  /// Long: it ends a test that hangs, and is to end none on a machine that is busy.
  private var deadline: MonotonicTime { MonotonicClock.now().adding(milliseconds: 60_000) }

  func send(_ text: String) async throws {
    try await socket.write(Array(text.utf8))
  }

  /// Reads until the server has ended its side, and ends this one: the server waits for that.
  func readToEnd() async throws -> String {
    while true {
      let bytes = try await socket.read(upTo: 65536, until: deadline)
      if bytes.isEmpty {
        socket.shutdownWrites()
        return String(decoding: buffer, as: UTF8.self)
      }
      buffer += bytes
    }
  }

  /// Reads until the bytes so far hold a text, and returns all of them up to its end.
  func read(through text: String) async throws -> String {
    while true {
      let all = String(decoding: buffer, as: UTF8.self)
      if let range = all.firstRange(of: text) {
        let taken = String(all[..<range.upperBound])
        buffer.removeFirst(taken.utf8.count)
        return taken
      }
      let bytes = try await socket.read(upTo: 65536, until: deadline)
      if bytes.isEmpty { throw EndedEarly(got: all) }
      buffer += bytes
    }
  }

  struct EndedEarly: Error { let got: String }
}
