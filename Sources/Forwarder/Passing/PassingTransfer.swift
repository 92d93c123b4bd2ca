import CCurl
import EventLoop
import Glibc
import RelayCore

/// An easy handle by which requests are passed on to one relay, one after another.
///
/// It lives on the link's thread. libcurl's callbacks get an unretained pointer to it, and come
/// only while the handle is in the multi handle, when the link's table holds the transfer.
final class PassingTransfer {
  /// The most bytes of header lines of one answer.
  private static let headBytesMax = 1 << 20

  /// The relay that its requests go to.
  let target: UpstreamTarget
  /// The handle.
  let handle: CurlEasy
  /// The request that it carries now.
  private(set) var cargo: (any PassingCargo)?
  private let limits: ForwarderLimits
  private var headers = OutgoingHeaders()
  private var headerList = CurlHeaderList()
  private var body = OutgoingBody()
  private var head = ResponseHead(bytesMax: headBytesMax)
  /// Whether a part of the request may have been written.
  private(set) var isWritten = false
  private var mustConnectAnew = false
  /// Whether something has come of the other relay since it was asked last.
  private var isHeard = false
  private var permit = WritePermit.granted
  /// Why the answer is not passed on.
  private var flaw: String?

  init(
    to target: UpstreamTarget, limits: ForwarderLimits, connections: OpenConnections
  ) throws(SystemError) {
    self.target = target
    self.limits = limits
    handle = try CurlEasy(connections: connections)
    handle.configure(for: target, limits: limits)
    connectCallbacks()
  }

  /// Sets the handle up for a request.
  ///
  /// - Parameter isNew: Whether it has to have a new connection.
  func prepare(
    _ cargo: any PassingCargo, overNewConnection isNew: Bool
  ) throws(SystemError) {
    self.cargo = cargo
    let request = cargo.request
    head = ResponseHead(bytesMax: Self.headBytesMax)
    isWritten = false
    flaw = nil
    handle.clearError()
    headers.rebuild(passing: request.fields)
    handle.setHeaders(headerList.set(headers))
    handle.set(CURLOPT_REQUEST_TARGET, nulEnded: request.target + [0])
    handle.set(CURLOPT_CUSTOMREQUEST, request.method)
    connectAnew(isNew)
    isHeard = false
    try prepare(request.body, request.method)
  }

  private func prepare(_ requestBody: PassedRequest.Body, _ method: String) throws(SystemError) {
    body = OutgoingBody()
    var length: Int64 = 0
    var isWhole = true
    switch requestBody {
    case .whole(let bytes):
      body = try OutgoingBody(.inline(bytes))
      length = Int64(bytes.count)
    case .pieces(let stated):
      // Without a length libcurl sends it in chunks (CURLOPT_POSTFIELDSIZE_LARGE(3)).
      length = stated ?? -1
      isWhole = false
    }
    // Without POSTFIELDS the body comes from the read callback.
    handle.set(CURLOPT_POSTFIELDS, pointer: body.memory)
    handle.set(CURLOPT_POSTFIELDSIZE_LARGE, offset: length)
    if length != 0 || !isWhole || RequestLineCheck.announcesEmptyBody(method) {
      handle.set(CURLOPT_POST, 1)
    } else if method == "HEAD" {
      handle.set(CURLOPT_NOBODY, 1)
    } else {
      handle.set(CURLOPT_HTTPGET, 1)
    }
  }

  /// Has the request wait for a connection of its own, in place of a kept one that cannot be used.
  ///
  /// - Returns: Whether it can be begun again: nothing was written.
  func beginsAnew(_ code: CURLcode) -> Bool {
    guard code == CURLE_ABORTED_BY_CALLBACK, permit == .elsewhere, !mustConnectAnew else {
      return false
    }
    handle.clearError()
    connectAnew(true)
    return true
  }

  private func connectAnew(_ isNew: Bool) {
    handle.mustConnectAnew(isNew)
    mustConnectAnew = isNew
    permit = .granted
  }

  /// Tells what came of it, and frees what only this request needed.
  func finish(_ code: CURLcode) {
    let ended = cargo
    release()
    guard let ended else { return }
    guard code == CURLE_OK, head.isComplete else {
      return ended.finish(.failure(failure(code)))
    }
    ended.finish(.success(()))
  }

  /// Whether something has come of the other relay since this was asked last.
  func takeHeard() -> Bool {
    defer { isHeard = false }
    return isHeard
  }

  /// Frees what only this request needed.
  func release() {
    cargo = nil
    body = OutgoingBody()
  }

  private func failure(_ code: CURLcode) -> PassingFailure {
    if let flaw { return PassingFailure(reason: flaw, isWritten: true) }
    if code == CURLE_ABORTED_BY_CALLBACK, case .refused(let refusal) = permit {
      return PassingFailure(reason: refusal.words, isWritten: isWritten)
    }
    let detail = TransferFailure.detail(
      code, words: handle.error, osError: handle.osError, hasBegun: head.status != nil,
      showsIdentity: true, target: target, bytesMax: limits.errorDetailBytesMax)
    // A server that does not accept the certificate reads no request (RFC 8446 section 4.4.2.4).
    let isTaken = isWritten && !TransferFailure.isOfIdentity(handle.error)
    return PassingFailure(reason: detail, isWritten: isTaken)
  }
}

// MARK: - libcurl's calls

extension PassingTransfer {
  /// Whether the request may be written on the connection that libcurl has chosen.
  ///
  /// It is written once: a second time it could arrive twice.
  private func mayBegin(localPort: Int32) -> Bool {
    guard !isWritten else { return false }
    permit = handle.connections.permit(
      handle, localPort: localPort, isSecure: target.url.scheme == .https, isNew: mustConnectAnew)
    guard permit == .granted else { return false }
    handle.connections.noteRequest(localPort: localPort, to: target)
    isWritten = true
    return true
  }

  private func sendBody(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    guard let cargo else { return Int(waystation_curl_read_abort) }
    switch cargo.send(into: buffer) {
    case .bytes(let count): return count
    case .notYet: return Int(waystation_curl_read_pause)
    }
  }

  private func takeHeader(_ line: Span<UInt8>) -> Bool {
    isHeard = true
    switch head.receive(line) {
    case .goesOn: return true
    case .malformed(let reason):
      flaw = reason
      return false
    case .complete:
      let answer = PassedAnswer(
        status: head.status ?? 0, fields: head.headers(), contentLength: head.contentLength)
      return cargo?.take(answer) ?? true
    }
  }

  private func takeBody(_ piece: UnsafeRawBufferPointer) -> Bool {
    isHeard = true
    return cargo?.take(answer: Array(piece)) ?? true
  }

  /// Whether nobody waits for more: libcurl is to end the transfer, and close the connection.
  private var isOver: Bool { cargo?.isOver ?? true }

  private static func at(_ context: UnsafeMutableRawPointer?) -> PassingTransfer? {
    context.map { Unmanaged<PassingTransfer>.fromOpaque($0).takeUnretainedValue() }
  }

  private func connectCallbacks() {
    let context = Unmanaged.passUnretained(self).toOpaque()
    for option in [
      CURLOPT_PRIVATE, CURLOPT_HEADERDATA, CURLOPT_WRITEDATA, CURLOPT_READDATA, CURLOPT_PREREQDATA,
    ] {
      handle.set(option, pointer: context)
    }
    _ = waystation_curl_set_request_callback(handle.pointer) { context, _, _, _, localPort in
      let mayBegin = PassingTransfer.at(context)?.mayBegin(localPort: localPort) ?? false
      return Int32(mayBegin ? waystation_curl_request_ok : waystation_curl_request_abort)
    }
    _ = waystation_curl_set_data_callback(handle.pointer, CURLOPT_READFUNCTION) {
      bytes, size, count, context in
      let buffer = UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
      return PassingTransfer.at(context)?.sendBody(into: buffer) ?? Int(waystation_curl_read_abort)
    }
    _ = waystation_curl_set_data_callback(handle.pointer, CURLOPT_HEADERFUNCTION) {
      bytes, size, count, context in
      guard let transfer = PassingTransfer.at(context) else { return 0 }
      let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
      let goesOn = line.withMemoryRebound(to: UInt8.self) { transfer.takeHeader($0.span) }
      return goesOn ? line.count : line.count &+ 1
    }
    _ = waystation_curl_set_data_callback(handle.pointer, CURLOPT_WRITEFUNCTION) {
      bytes, size, count, context in
      guard let transfer = PassingTransfer.at(context) else { return 0 }
      let piece = UnsafeRawBufferPointer(start: bytes, count: size * count)
      // libcurl offers it again once the handle goes on (CURLOPT_WRITEFUNCTION(3)).
      guard transfer.takeBody(piece) else { return Int(waystation_curl_write_pause) }
      return transfer.isOver ? piece.count &+ 1 : piece.count
    }
  }
}
