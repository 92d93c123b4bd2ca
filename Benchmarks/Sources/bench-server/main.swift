import EventLoop
import Glibc
import HTTPServer

// usage: bench-server
// The relay's own HTTP server with nothing behind it: reads each request whole and answers 202.
// The ceiling for acceptance. It has one event loop, as `waystation serve` has on two processors.

/// Takes a request's body, and answers 202.
struct EmptyHandler: RequestHandler {
  func respond(to request: HTTPRequest) async -> HTTPResponse {
    do throws(RequestBodyError) {
      _ = try await request.body.collect(upTo: 1 << 20)
    } catch {
      return HTTPResponse(status: 400)
    }
    return HTTPResponse(status: 202)
  }
}

let server = HTTPServer(loops: [try EventLoop(name: "server")], handler: EmptyHandler())
let address = try server.bind(.loopback(port: 0))
let line = "listening on http://\(address)\n"
_ = line.withCString { write(1, $0, strlen($0)) }
while true { pause() }
