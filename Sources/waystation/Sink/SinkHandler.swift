import EventLoop
import HTTPServer
import RelayCore

/// Gives every request the same response, and prints the request.
struct SinkHandler: RequestHandler {
  let options: SinkOptions
  let loop: EventLoop
  /// nil to print nothing.
  let printer: SinkPrinter?

  func respond(to request: HTTPRequest) async -> HTTPResponse {
    let time = WallClock.now()
    let body = await Self.read(request.body)
    if options.delayMs > 0, body.isComplete {
      await loop.sleep(until: MonotonicClock.now().adding(milliseconds: options.delayMs))
    }
    printer?.print(line(time, request.head, body).bytes)
    return answer(bodyByteCount: body.byteCount)
  }

  /// The part of a body that is kept: its length and its beginning.
  private struct Body {
    var byteCount = 0
    var start: [UInt8] = []
    var isComplete = true
  }

  private static func read(_ body: RequestBody) async -> Body {
    var result = Body()
    do throws(RequestBodyError) {
      while let piece = try await body.read() {
        result.byteCount += piece.count
        result.start += piece.prefix(SinkLine.bodyBytesMax - result.start.count)
      }
    } catch {
      result.isComplete = false
    }
    return result
  }

  private func line(_ time: WallTime, _ head: RequestHead, _ body: Body) -> SinkLine {
    SinkLine(
      time: time, method: head.method.description,
      target: String(decoding: head.target, as: UTF8.self),
      status: Task.isCancelled ? nil : options.status,
      byteCount: body.byteCount, isComplete: body.isComplete,
      client: head.string(of: "Waystation-Client"),
      attempt: head.string(of: "Waystation-Attempt"),
      key: head.string(of: "Idempotency-Key"), bodyStart: body.start)
  }

  private func answer(bodyByteCount: Int) -> HTTPResponse {
    var response = HTTPResponse(status: options.status)
    if [429, 503].contains(options.status) { response.headers.add("Retry-After", 1) }
    response.headers.add("Content-Type", "application/json")
    response.body = .bytes(Array("{\"received\": \(bodyByteCount)}\n".utf8))
    return response
  }
}
