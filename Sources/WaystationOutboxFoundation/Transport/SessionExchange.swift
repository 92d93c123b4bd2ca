import Foundation
import Synchronization
import WaystationOutbox

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// One request on its way: what has come of its answer, and who waits for it.
final class SessionExchange: Sendable {
  /// Why a request was ended here.
  enum Ending {
    /// Nobody waits for it any more.
    case givenUp
    /// Its time is over.
    case timedOut
  }

  /// Whom the answer is for.
  typealias Waiter = CheckedContinuation<Result<Response, ConnectionFailure>, Never>

  /// What has come to pass so far.
  private struct Course: Sendable {
    var ending: Ending?
    var body: [UInt8] = []
    var isCut = false
    var sent: Int64 = 0
  }

  private struct State {
    var waiter: Waiter?
    var task: URLSessionTask?
    var course = Course()
  }

  /// The certificate that is shown; nil for none.
  var identity: TLSIdentity? { exchange.identity }

  private let exchange: Exchange
  private let authority: String
  private let progress: @Sendable (WaystationOutbox.Progress) -> Void
  private let state = Mutex(State())

  init(
    _ exchange: Exchange, authority: String,
    _ progress: @escaping @Sendable (WaystationOutbox.Progress) -> Void
  ) {
    self.exchange = exchange
    self.authority = authority
    self.progress = progress
  }

  /// Whether it is to be made; if it was ended before, `waiter` is told.
  func begin(_ waiter: Waiter) -> Bool {
    let isEnded = state.withLock { state in
      if state.course.ending == nil { state.waiter = waiter }
      return state.course.ending != nil
    }
    guard isEnded else { return true }
    waiter.resume(returning: .failure(.unsendable("\(authority): it was given up here")))
    return false
  }

  /// Makes the request.
  func run(_ task: URLSessionTask) {
    let isEnded = state.withLock { state in
      state.task = task
      return state.course.ending != nil
    }
    task.resume()
    if isEnded { task.cancel() }
  }

  /// Ends the request; it may be called at any time.
  func end(_ ending: Ending) {
    let task = state.withLock { state in
      if state.course.ending == nil { state.course.ending = ending }
      return state.task
    }
    task?.cancel()
  }

  // MARK: - What the session tells

  /// So many bytes of the body have been sent.
  func sent(_ count: Int64) {
    let received = state.withLock { state in
      state.course.sent = max(state.course.sent, count)
      return Int64(state.course.body.count)
    }
    progress(WaystationOutbox.Progress(sent: count, total: bodyBytes, received: received))
  }

  /// More of the answer's body has come.
  func received(_ piece: Data) {
    let most = exchange.responseBytesMax
    let (course, task) = state.withLock { state in
      let room = max(0, most - state.course.body.count)
      state.course.body.append(contentsOf: piece.prefix(room))
      if piece.count > room { state.course.isCut = true }
      return (state.course, state.task)
    }
    let count = Int64(course.body.count)
    progress(WaystationOutbox.Progress(sent: course.sent, total: bodyBytes, received: count))
    // What has come is all that is of use.
    if course.isCut { task?.cancel() }
  }

  /// It is over.
  func complete(_ response: URLResponse?, _ error: (any Error)?) {
    let (course, waiter) = state.withLock { state in
      defer {
        state.waiter = nil
        state.task = nil
      }
      return (state.course, state.waiter)
    }
    waiter?.resume(returning: result(course, response as? HTTPURLResponse, error))
  }

  private func result(
    _ last: Course, _ response: HTTPURLResponse?, _ error: (any Error)?
  ) -> Result<Response, ConnectionFailure> {
    if let response, error == nil || last.isCut {
      let fields = response.fields(isDecoded: !last.body.isEmpty)
      return .success(
        Response(
          status: response.statusCode, headers: fields, body: last.body, isCut: last.isCut))
    }
    let words: String
    switch last.ending {
    case .givenUp: words = "it was given up here"
    case .timedOut: words = "there was no whole answer within \(exchange.timeout)"
    case nil:
      let code = (error as? URLError)?.code
      let mayHaveArrived = last.sent > 0 || code?.mayHaveArrived ?? true
      let said = error.map { "\($0.localizedDescription) (\(($0 as NSError).code))" }
      return .failure(
        ConnectionFailure(
          reason: "\(authority): \(said ?? "that was no HTTP")", mayHaveArrived: mayHaveArrived))
    }
    return .failure(ConnectionFailure(reason: "\(authority): \(words)", mayHaveArrived: true))
  }

  private var bodyBytes: Int64 {
    switch exchange.body {
    case .none: 0
    case .bytes(let bytes): Int64(bytes.count)
    case .file(let stretch): stretch.count
    }
  }
}

extension URLError.Code {
  /// Whether a request that has failed so may have been taken all the same, if nothing of its body
  /// is known to have been sent.
  ///
  /// Of what is not named here, nobody knows.
  var mayHaveArrived: Bool {
    switch self {
    case .badURL, .unsupportedURL, .cannotFindHost, .dnsLookupFailed, .cannotConnectToHost,
      .notConnectedToInternet, .internationalRoamingOff, .callIsActive, .dataNotAllowed,
      .secureConnectionFailed, .serverCertificateHasBadDate, .serverCertificateUntrusted,
      .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid,
      .appTransportSecurityRequiresSecureConnection, .fileDoesNotExist,
      .noPermissionsToReadFile:
      false
    default: true
    }
  }
}

extension HTTPURLResponse {
  /// The fields, in the order of their names.
  ///
  /// - Parameter isDecoded: Whether there is a body, which URLSession has decoded if it came
  ///   compressed.
  func fields(isDecoded: Bool) -> [(String, String)] {
    let fields = allHeaderFields.compactMap { name, value in
      (name as? String).map { ($0, "\(value)") }
    }
    let coding = fields.first { $0.0.lowercased() == "content-encoding" }?.1.lowercased()
    let isPacked = isDecoded && coding != nil && coding != "identity"
    let ofPacked = ["content-encoding", "content-length"]
    return fields.filter { !isPacked || !ofPacked.contains($0.0.lowercased()) }
      .sorted { $0.0.lowercased() < $1.0.lowercased() }
  }
}
