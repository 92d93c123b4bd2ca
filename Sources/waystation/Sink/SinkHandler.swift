import EventLoop
import HTTPServer
import RelayCore

/// Gives every request the same response, and prints the request.
struct SinkHandler: RequestHandler {
  let options: SinkOptions
  let loop: EventLoop
  /// nil to print nothing.
  let printer: SinkPrinter?
  /// nil to write nothing down.
  let record: SinkRecord?

  func respond(to request: HTTPRequest) async -> HTTPResponse {
    let time = WallClock.now()
    let body = await Self.read(
      request.body, upTo: record == nil ? SinkLine.bodyBytesMax : SinkRecord.bodyBytesMax)
    var status = options.status
    if let record, body.isComplete { status = noted(request.head, body, in: record) ?? status }
    if options.delayMs > 0, body.isComplete {
      await loop.sleep(until: MonotonicClock.now().adding(milliseconds: options.delayMs))
    }
    printer?.print(line(time, request.head, body, status).bytes)
    return answer(status, bodyByteCount: body.byteCount)
  }

  /// Writes a request down.
  ///
  /// - Returns: The status to answer with if that failed: whoever has sent it sends it again.
  private func noted(_ head: RequestHead, _ body: Body, in record: SinkRecord) -> Int? {
    guard body.byteCount == body.start.count else {
      StandardStream.error.line(
        "waystation sink: not recorded: a body of \(body.byteCount) bytes, of"
          + " \(SinkRecord.bodyBytesMax) at the most")
      return 413
    }
    do throws(SystemError) {
      try record.add(head, body.start)
      return nil
    } catch {
      StandardStream.error.line("waystation sink: not recorded: \(error)")
      return 503
    }
  }

  /// The part of a body that is kept: its length and its beginning.
  private struct Body {
    var byteCount = 0
    var start: [UInt8] = []
    var isComplete = true
  }

  private static func read(_ body: RequestBody, upTo bytesMax: Int) async -> Body {
    var result = Body()
    do throws(RequestBodyError) {
      while let piece = try await body.read() {
        result.byteCount += piece.count
        result.start += piece.prefix(bytesMax - result.start.count)
      }
    } catch {
      result.isComplete = false
    }
    return result
  }

  private func line(
    _ time: WallTime, _ head: RequestHead, _ body: Body, _ status: Int
  ) -> SinkLine {
    SinkLine(
      time: time, method: head.method.description,
      target: String(decoding: head.target, as: UTF8.self),
      status: Task.isCancelled ? nil : status,
      byteCount: body.byteCount, isComplete: body.isComplete,
      client: head.string(of: "Waystation-Client"),
      attempt: head.string(of: "Waystation-Attempt"),
      key: head.string(of: "Idempotency-Key"),
      bodyStart: Array(body.start.prefix(SinkLine.bodyBytesMax)))
  }

  private func answer(_ status: Int, bodyByteCount: Int) -> HTTPResponse {
    var response = HTTPResponse(status: status)
    if [429, 503].contains(status) { response.headers.add("Retry-After", 1) }
    response.headers.add("Content-Type", "application/json")
    response.body = .bytes(Array("{\"received\": \(bodyByteCount)}\n".utf8))
    return response
  }
}
