import CCurl
import EventLoop
import Glibc
import RelayCore

/// One easy handle of one upstream, and everything that an attempt on it has to keep in place.
///
/// It is used for attempt after attempt: their common options are set once. It lives on the
/// forwarder's thread. libcurl's callbacks get an unretained pointer to it, and come only while the
/// handle is in the multi handle, when the forwarder's table holds the transfer.
final class Transfer {
  /// The upstream of its attempts.
  let target: UpstreamTarget
  /// The envelope that is being tried.
  private(set) var serial: Serial = 0
  /// The request, if it may have to be sent again with another token.
  private(set) var request: AttemptRequest?
  /// The handle.
  let handle: CurlEasy

  /// Whether requests may be written now.
  let mayWrite: @Sendable () -> Bool
  private let limits: ForwarderLimits
  private(set) var startedAt = Now(
    wall: WallTime(millisecondsSinceEpoch: 0), monotonic: MonotonicTime(nanoseconds: 0))
  private var headerList = CurlHeaderList()
  private var requestTarget: [UInt8]
  private var lastMethod = ""
  private var looksUpAnew = false
  private var isProxied = false
  /// Whether the options are set for a request that is moved to a new connection.
  private var isOnNewConnection = false
  /// Whether they are set for less than an attempt's whole time.
  private var hasLessTime = false
  private var body = OutgoingBody()
  /// Whether libcurl has to be told once the next part of the body has come.
  private var isAwaitingBody = false
  private var collector: ResponseCollector
  /// The most bytes of the answer's body that are reported.
  private var bodyBytesMax = 0
  /// The number of times that the request was begun on a connection: more than once if a kept
  /// connection turned out to be dead.
  var beginCount = 0
  /// Whether it was begun before it had to go on a new connection.
  private(set) var wasBegunBefore = false
  /// The start of the last request; nil if there was none.
  var requestStart: RequestStart?
  /// The reason that libcurl was told not to write the request; nil if it may.
  var refusal: WritePermit?
  /// The measure of silence; only used if the upstream has an idle timeout.
  var silence = Silence(from: MonotonicTime(nanoseconds: 0))

  /// Prepares a handle for an upstream.
  init(
    target: UpstreamTarget, limits: ForwarderLimits, connections: OpenConnections,
    mayWrite: @escaping @Sendable () -> Bool
  ) throws(SystemError) {
    self.target = target
    self.mayWrite = mayWrite
    self.limits = limits
    handle = try CurlEasy(connections: connections)
    requestTarget = target.requestTargetPrefix
    collector = ResponseCollector(bodyBytesMax: 0, limits: limits, hasNoBody: false)
    handle.configure(for: target, limits: limits)
    connectCallbacks()
  }

  /// Sets the handle up for an attempt whose request line was checked.
  ///
  /// - Parameters:
  ///   - signed: Its body, and the signatures if there are any.
  ///   - looksUpAnew: Whether the last address must not be used again: it may be the reason that
  ///     the upstream cannot be reached.
  ///   - isProxied: Whether it must not wait for a connection that is being made:
  ///     ``ProxiedServers``.
  ///   - headers: Scratch memory.
  func prepare(
    _ request: AttemptRequest, _ signed: consuming SignedBody, at now: Now, looksUpAnew: Bool,
    isProxied: Bool, headers: inout OutgoingHeaders
  ) {
    if isProxied != self.isProxied {
      handle.set(CURLOPT_PIPEWAIT, target.mayUseHTTP2 && !isProxied ? 1 : 0)
      self.isProxied = isProxied
    }
    if looksUpAnew != self.looksUpAnew {
      handle.set(CURLOPT_DNS_CACHE_TIMEOUT, looksUpAnew ? 0 : limits.nameCacheSeconds)
      self.looksUpAnew = looksUpAnew
    }
    if isOnNewConnection || hasLessTime { forgetNewConnection() }
    headers.rebuild(for: request, signed.signatures, at: now.wall)
    body = signed.body
    isAwaitingBody = false
    serial = request.serial
    if target.tokens != nil { self.request = request }
    startedAt = now
    beginCount = 0
    wasBegunBefore = false
    requestStart = nil
    refusal = nil
    silence = Silence(from: now.monotonic)
    let method = request.content.method
    bodyBytesMax = max(target.responseBodyBytesMax, request.responseBodyBytesMax)
    collector = ResponseCollector(
      bodyBytesMax: max(bodyBytesMax, refusalBytesMax), limits: limits,
      hasNoBody: method == "HEAD")
    handle.clearError()
    setTarget(request.content.target)
    handle.setHeaders(headerList.set(headers))
    setMethod(method)
    if let beganAt = request.beganAt { limitTime(since: beganAt, at: now) }
  }

  /// Gives the request the rest of the time of an attempt that began before it could be sent.
  private func limitTime(since beganAt: Now, at now: Now) {
    startedAt = beganAt
    guard let attemptTimeoutMs = target.attemptTimeoutMs else { return }
    hasLessTime = true
    let passedMs = now.monotonic.milliseconds(since: beganAt.monotonic)
    handle.set(CURLOPT_TIMEOUT_MS, max(attemptTimeoutMs - Int(clamping: passedMs), 1))
  }

  /// Whether its request gets a new connection, whatever connections are kept.
  var isOnItsOwn: Bool { isOnNewConnection || !target.reusesConnections }

  /// Sets the handle up for the same attempt on a new connection, in the rest of its time.
  ///
  /// Nothing was written on the chosen connection.
  func prepareNewConnection(at now: Now) {
    isOnNewConnection = true
    handle.mustConnectAnew(true)
    limitTime(since: startedAt, at: now)
    handle.clearError()
    wasBegunBefore = wasBegunBefore || beginCount > 0
    beginCount = 0
    refusal = nil
    _ = body.seek(to: 0)
  }

  private func forgetNewConnection() {
    isOnNewConnection = false
    hasLessTime = false
    handle.mustConnectAnew(!target.reusesConnections)
    handle.set(CURLOPT_TIMEOUT_MS, target.attemptTimeoutMs ?? 0)
  }

  /// Sets the request line's target, in place of the URL's path: libcurl sends it as it is.
  private func setTarget(_ target: [UInt8]) {
    requestTarget.removeLast(requestTarget.count - self.target.requestTargetPrefix.count)
    requestTarget.append(contentsOf: target)
    requestTarget.append(0)
    handle.set(CURLOPT_REQUEST_TARGET, nulEnded: requestTarget)
  }

  private func setMethod(_ method: String) {
    if method != lastMethod {
      handle.set(CURLOPT_CUSTOMREQUEST, method)
      lastMethod = method
    }
    if body.byteCount > 0 {
      // Without POSTFIELDS the body comes from the read callback.
      handle.set(CURLOPT_POSTFIELDS, pointer: body.memory)
      handle.set(CURLOPT_POSTFIELDSIZE_LARGE, offset: body.byteCount)
      handle.set(CURLOPT_POST, 1)
      return
    }
    handle.set(CURLOPT_POSTFIELDS, pointer: nil)
    handle.set(CURLOPT_POSTFIELDSIZE_LARGE, offset: 0)
    if RequestLineCheck.announcesEmptyBody(method) {
      handle.set(CURLOPT_POST, 1)
    } else if method == "HEAD" {
      handle.set(CURLOPT_NOBODY, 1)
    } else {
      handle.set(CURLOPT_HTTPGET, 1)
    }
  }

  /// The length of the request's body in bytes.
  var bodyByteCount: Int64 { body.byteCount }
  /// The number of bytes of the response's body that have come in.
  var receivedBytes: Int64 { collector.bodyBytesSeen }

  /// The number of bytes of header lines that have come in.
  var headerBytes: Int64 { Int64(collector.headerBytesSeen) }

  /// The report of the ended attempt; frees what only the attempt needed.
  func finish(_ code: CURLcode, at now: Now) -> AttemptReport {
    defer { release() }
    // Over HTTP/2 libcurl also fails in sending if the response breaks off.
    let failedInSending = code == CURLE_SEND_ERROR && writtenBytes < bodyByteCount
    let verdict = collector.verdict(
      succeeded: code == CURLE_OK, failedInSending: failedInSending)
    switch verdict {
    case .answered(let response, let fieldCount):
      if let refusal = refusal(in: response, fieldCount: fieldCount) {
        var report = report(refusal, isWritten: false, at: now)
        report.isToldByAnswer = true
        return report
      }
      var masked = target.credentials.masked(response.keeping(bodyBytesMax: bodyBytesMax))
      if let token = request?.accessToken { masked = token.mask.masked(masked) }
      return report(.answered(masked), isWritten: true, at: now)
    case .malformed(let reason):
      let detail = "\(target.url.authority): \(reason)"
      return report(
        .failed(.malformedResponse, detail: detail), isWritten: isWritten, at: now)
    case .none:
      var report = report(failure(code, at: now), isWritten: isWritten, at: now)
      report.isOfIdentity = TransferFailure.isOfIdentity(handle.error)
      return report
    }
  }

  private func failure(_ code: CURLcode, at now: Now) -> AttemptEvent {
    if code == CURLE_ABORTED_BY_CALLBACK, case .refused(let refusal) = refusal {
      return refusal.event(target: target, bytesMax: limits.errorDetailBytesMax)
    }
    if code == CURLE_ABORTED_BY_CALLBACK, let reason = body.failure {
      return .failed(.local, detail: "could not read a stored body: \(reason)")
    }
    let hasBegun = headerBytes > 0
    let detail = TransferFailure.detail(
      code, words: handle.error, osError: handle.osError, hasBegun: hasBegun,
      showsIdentity: target.shows(identityAt: now.wall) || !handle.hasConnected, target: target,
      bytesMax: limits.errorDetailBytesMax)
    let kind = TransferFailure.kind(of: code, words: handle.error, hasBegun: hasBegun)
    return .failed(kind, detail: target.credentials.masked(detail))
  }

  /// The report of an attempt that is ended from here; frees what only the attempt needed.
  ///
  /// Called before the handle is removed from the multi handle.
  func breakOff(as failure: ConnectionFailure, detail: String, at now: Now) -> AttemptReport {
    let isWritten = isWritten
    release()
    return report(.failed(failure, detail: detail), isWritten: isWritten, at: now)
  }

  /// Hands out what can be sent of the body; libcurl asks no more until the next part has come.
  private func readBody(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    switch body.read(into: buffer) {
    case .bytes(let count): return count
    case .failed: return Int(waystation_curl_read_abort)
    case .notYet:
      isAwaitingBody = true
      return Int(waystation_curl_read_pause)
    }
  }

  /// Takes a part of the body that has come, and goes on.
  func take(_ arrival: BodyArrival) {
    guard body.take(arrival), isAwaitingBody else { return }
    isAwaitingBody = false
    handle.goOn()
  }

  private func report(_ event: AttemptEvent, isWritten: Bool, at now: Now) -> AttemptReport {
    AttemptReport(
      serial: serial, event: event, startedAt: startedAt.wall,
      durationMs: now.monotonic.milliseconds(since: startedAt.monotonic), isWritten: isWritten)
  }

  /// Frees what only this attempt needed.
  func release() {
    if request != nil { request = nil }
    body = OutgoingBody()
    collector = ResponseCollector(bodyBytesMax: 0, limits: limits, hasNoBody: false)
  }
}

extension Transfer {
  /// The transfer that a callback's context pointer refers to.
  private static func at(_ context: UnsafeMutableRawPointer?) -> Transfer? {
    context.map { Unmanaged<Transfer>.fromOpaque($0).takeUnretainedValue() }
  }

  private func connectCallbacks() {
    let context = Unmanaged.passUnretained(self).toOpaque()
    for option in [
      CURLOPT_PRIVATE, CURLOPT_HEADERDATA, CURLOPT_WRITEDATA, CURLOPT_READDATA, CURLOPT_SEEKDATA,
      CURLOPT_PREREQDATA,
    ] {
      handle.set(option, pointer: context)
    }
    connectResponseCallbacks()
    connectBodyCallbacks()
  }

  /// Sets the callbacks for the response; one that returns another count than it was given ends the
  /// transfer.
  private func connectResponseCallbacks() {
    _ = waystation_curl_set_data_callback(handle.pointer, CURLOPT_HEADERFUNCTION) {
      bytes, size, count, context in
      guard let transfer = Transfer.at(context) else { return 0 }
      let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
      let goesOn = line.withMemoryRebound(to: UInt8.self) {
        transfer.collector.receiveHeaderLine($0.span)
      }
      return goesOn ? line.count : line.count &+ 1
    }
    _ = waystation_curl_set_data_callback(handle.pointer, CURLOPT_WRITEFUNCTION) {
      bytes, size, count, context in
      guard let transfer = Transfer.at(context) else { return 0 }
      let piece = UnsafeRawBufferPointer(start: bytes, count: size * count)
      return transfer.collector.receiveBody(piece) ? piece.count : piece.count &+ 1
    }
  }

  private func connectBodyCallbacks() {
    _ = waystation_curl_set_request_callback(handle.pointer) { context, _, _, _, localPort in
      let mayBegin = Transfer.at(context)?.begin(localPort: localPort) ?? false
      return Int32(mayBegin ? waystation_curl_request_ok : waystation_curl_request_abort)
    }
    _ = waystation_curl_set_data_callback(handle.pointer, CURLOPT_READFUNCTION) {
      bytes, size, count, context in
      let buffer = UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
      return Transfer.at(context)?.readBody(into: buffer) ?? Int(waystation_curl_read_abort)
    }
    _ = waystation_curl_set_seek_callback(handle.pointer) { context, offset, origin in
      guard let transfer = Transfer.at(context), origin == SEEK_SET,
        transfer.body.seek(to: Int64(offset))
      else { return CURL_SEEKFUNC_FAIL }
      return CURL_SEEKFUNC_OK
    }
  }
}
