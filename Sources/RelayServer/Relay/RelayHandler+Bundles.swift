import EventLoop
import Forwarder
import HTTPServer
import RelayCore

extension RelayHandler {
  /// Whether a request of another relay carries several others.
  static func isBundle(_ request: HTTPRequest) -> Bool {
    request.head.method == .post && request.head.path.elementsEqual(PassedBundle.target.utf8)
      && request.head.value(of: PassedOrigin.fieldName) == nil
  }

  /// Answers requests that another relay has passed on together, side by side as if each had come
  /// by itself, and in their order.
  ///
  /// None of them is begun unless all can be read.
  @inline(never)
  func respond(toBundle bundle: HTTPRequest) async -> HTTPResponse {
    let requests: [HTTPRequest]
    do {
      let bytes = try await bundle.body.collect(upTo: Self.bundleBytesMax)
      requests = try HTTPRequest.sequence(
        bytes, limits: limits.http, countMax: PassedBundle.itemsMax, origin: bundle.origin)
    } catch {
      // Of whichever kind: it is about none of them by itself, and each is to come by itself. If
      // the body could not be read, the server answers.
      let detail = (error as? ProtocolProblem)?.detail ?? "The body is cut off."
      return Problem.malformedRequest("The requests cannot be read together: \(detail)").response
    }
    var response = HTTPResponse(status: 200, body: .bytes(await answers(to: requests)))
    response.headers.add("Content-Type", PassedBundle.mediaType)
    return response
  }

  /// The most bytes of a bundle: its last request may go beyond what it holds otherwise.
  private static let bundleBytesMax = 2 * PassedBundle.bytesMax

  private func answers(to requests: [HTTPRequest]) async -> [UInt8] {
    let messages = await withTaskGroup(of: (Int, [UInt8]).self) { group in
      for (number, request) in requests.enumerated() {
        group.addTask { (number, await self.message(answering: request)) }
      }
      var messages = [[UInt8]](repeating: [], count: requests.count)
      for await (number, message) in group { messages[number] = message }
      return messages
    }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(messages.reduce(0) { $0 + $1.count })
    for message in messages { bytes += message }
    return bytes
  }

  private func message(answering request: HTTPRequest) async -> [UInt8] {
    let begin = MonotonicClock.now()
    // A bundle within another one is none: it could go on without an end.
    var response =
      Self.isBundle(request) ? Problem.notFound().response : await respond(to: request)
    if request.body.failure != nil {
      // All of it is here: it can only be too large. The server would answer by itself.
      response = Self.response(
        to: ProtocolProblem(.bodyTooLarge, "The body exceeds what is taken here."))
    }
    response.body = await response.body.collected
    var message: [UInt8] = []
    if !response.append(asMessageTo: &message) {
      // None of those that may go together has an answer without an end.
      response = Problem.internalError().response
      _ = response.append(asMessageTo: &message)
    }
    tell(request, response, sentBytes: message.count, since: begin)
    return message
  }

  /// Reports it to those who count answers, as the server does for those that come by themselves.
  private func tell(
    _ request: HTTPRequest, _ response: HTTPResponse, sentBytes: Int, since begin: MonotonicTime
  ) {
    let durationUs = (MonotonicClock.now().nanoseconds - begin.nanoseconds) / 1000
    let parts = self.parts
    parts.metrics.count(
      AnsweredRequest(
        listener: request.origin.listener, status: response.status, durationUs: durationUs))
    guard parts.log.isAccessOn else { return }
    let receivedBytes = request.head.bytes.count + Int(request.body.knownLength ?? 0)
    AccessLog(log: parts.log).ended(
      Exchange(
        of: request, response, receivedBytes: receivedBytes, sentBytes: sentBytes,
        durationUs: durationUs))
  }
}

extension ResponseBody {
  /// The same in memory, if it is read from somewhere; as it is otherwise, or if it cannot be read.
  fileprivate var collected: ResponseBody {
    get async {
      guard case .source(_, let next) = self else { return self }
      var bytes: [UInt8] = []
      do {
        while let piece = try await next() { bytes += piece }
        return .bytes(bytes)
      } catch {
        return self
      }
    }
  }
}
