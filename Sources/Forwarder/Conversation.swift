import CCurl
import EventLoop
import Glibc
import RelayCore

/// Requests to one server, one at a time, for a program that has nothing else to do: each call
/// blocks its thread until the response is there.
///
/// It uses the same library as for upstreams, under the same rules: certificates are checked, no
/// redirect is followed, and no proxy, cookie or `.netrc` of the environment is used. Connections
/// are kept between calls.
package final class Conversation {
  /// The server to talk to.
  package enum Server: Equatable, Sendable, CustomStringConvertible {
    /// Over TCP, with TLS or without.
    case url(UpstreamURL)
    /// Through the Unix socket at this path.
    case unix(path: String)

    /// The form in which it is given.
    package var description: String {
      switch self {
      case .url(let url): url.description
      case .unix(let path): "unix:\(path)"
      }
    }

    /// Whether it is reached over TLS.
    var isSecure: Bool {
      if case .url(let url) = self { url.scheme == .https } else { false }
    }
  }

  /// A response's status and fields, and how long to stay away.
  package struct Answer: Equatable, Sendable {
    /// The status.
    package let status: Int
    /// The fields, without those of the connection.
    package let fields: HeaderBlock
    /// The seconds of `Retry-After`; nil if there is none.
    package let retryAfterSeconds: Int?
  }

  /// The reason that there is no response, in a sentence.
  package struct Failure: Error, Equatable {
    /// The reason.
    package let reason: String
    /// Whether a later try could help: nobody answered, or the connection was cut.
    package let mayPass: Bool
    /// Whether the request, or a part of it, may have reached the server.
    package var mayHaveArrived: Bool

    /// A reason.
    package init(reason: String, mayPass: Bool, mayHaveArrived: Bool = false) {
      self.reason = reason
      self.mayPass = mayPass
      self.mayHaveArrived = mayHaveArrived
    }
  }

  /// The longest time for making a connection, unless the caller has another one.
  package static let connectTimeoutMs = 10_000
  /// How long to wait at the most before libcurl is asked again, in milliseconds.
  private static let waitMs: Int32 = 1000
  /// The longest header of a response, in bytes.
  private static let headBytesMax = 1 << 20

  private let shared: SharedMulti
  private let easy: CurlEasy
  private let server: Server
  /// Whether libcurl may write a request once more if its kept connection ends without a response:
  /// the server may have taken it nevertheless.
  private let mayRepeat: Bool
  private var body = OutgoingBody()
  private var watch = ProgressWatch()
  private var beginCount = 0
  private var receive: (Int, UnsafeBufferPointer<UInt8>) -> Bool = { _, _ in true }
  private var head = ResponseHead(bytesMax: headBytesMax)
  private var isStopped = false
  private var mustConnectAnew = false
  private var permit = WritePermit.granted

  /// Prepares for requests; nothing is sent yet.
  ///
  /// - Parameters:
  ///   - identity: What is shown to a server that asks for a certificate.
  ///   - mayRepeat: Whether a request may be written once more if its kept connection ends without
  ///     a response.
  /// - Throws: ``Failure`` if there is no memory for it.
  package init(
    with server: Server, certificates: UpstreamTarget.CertificateAuthorities = .system,
    identity: Identity? = nil, connectTimeoutMs: Int = Conversation.connectTimeoutMs,
    mayRepeat: Bool = true
  ) throws(Failure) {
    self.server = server
    self.mayRepeat = mayRepeat
    do throws(SystemError) {
      shared = try SharedMulti()
      easy = try CurlEasy(connections: shared.multi.connections)
    } catch {
      throw Failure(reason: "cannot start: \(error)", mayPass: false)
    }
    configure(certificates, connectTimeoutMs: connectTimeoutMs)
    if let identity { easy.show(identity.identity) }
  }

  private func configure(
    _ certificates: UpstreamTarget.CertificateAuthorities, connectTimeoutMs: Int
  ) {
    _ = waystation_curl_restrict_protocols(easy.pointer)
    for (option, value) in [
      (CURLOPT_FOLLOWLOCATION, 0), (CURLOPT_HTTP_CONTENT_DECODING, 0), (CURLOPT_HTTP09_ALLOWED, 0),
      (CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue)), (CURLOPT_NOSIGNAL, 1),
      (CURLOPT_SSL_VERIFYPEER, 1), (CURLOPT_SSL_VERIFYHOST, 2),
      (CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2)),
      (CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1)),
      (CURLOPT_CONNECTTIMEOUT_MS, connectTimeoutMs), (CURLOPT_TCP_KEEPALIVE, 1),
      (CURLOPT_PATH_AS_IS, 1),
    ] {
      easy.set(option, value)
    }
    _ = waystation_curl_abandon_lookups(easy.pointer)
    // Empty strings keep the environment's proxies out (CURLOPT_PROXY(3)).
    easy.set(CURLOPT_PROXY, "")
    easy.set(CURLOPT_NOPROXY, "")
    easy.trust(certificates)
    if case .unix(let path) = server { easy.set(CURLOPT_UNIX_SOCKET_PATH, path) }
    let context = Unmanaged.passUnretained(self).toOpaque()
    easy.set(CURLOPT_PREREQDATA, pointer: context)
    _ = waystation_curl_set_request_callback(easy.pointer) { context, _, _, _, localPort in
      guard let context else { return Int32(waystation_curl_request_abort) }
      // Sound: libcurl calls this within `send`, which holds the object.
      let conversation = Unmanaged<Conversation>.fromOpaque(context).takeUnretainedValue()
      let mayBegin = conversation.mayBegin(localPort: localPort)
      return Int32(mayBegin ? waystation_curl_request_ok : waystation_curl_request_abort)
    }
    // So the multi handle tells whose transfer has ended.
    easy.set(CURLOPT_PRIVATE, pointer: context)
    connectResponse(context)
    connectBody(context)
  }

  /// The callbacks for a body that is not in memory, and for how far it has come.
  private func connectBody(_ context: UnsafeMutableRawPointer) {
    // Sound, all three: libcurl calls them within `send`, which holds the object.
    for option in [CURLOPT_READDATA, CURLOPT_SEEKDATA, CURLOPT_XFERINFODATA] {
      easy.set(option, pointer: context)
    }
    _ = waystation_curl_set_data_callback(easy.pointer, CURLOPT_READFUNCTION) {
      bytes, size, count, context in
      guard let context else { return Int(waystation_curl_read_abort) }
      let conversation = Unmanaged<Conversation>.fromOpaque(context).takeUnretainedValue()
      let buffer = UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
      guard case .bytes(let count) = conversation.body.read(into: buffer) else {
        return Int(waystation_curl_read_abort)
      }
      return count
    }
    _ = waystation_curl_set_seek_callback(easy.pointer) { context, offset, origin in
      guard let context, origin == SEEK_SET else { return CURL_SEEKFUNC_FAIL }
      let conversation = Unmanaged<Conversation>.fromOpaque(context).takeUnretainedValue()
      return conversation.body.seek(to: Int64(offset)) ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL
    }
    _ = waystation_curl_set_progress_callback(easy.pointer) { context, _, received, _, sent in
      guard let context else { return 0 }
      let conversation = Unmanaged<Conversation>.fromOpaque(context).takeUnretainedValue()
      conversation.watch.note(sent: Int64(sent), received: Int64(received))
      return 0
    }
  }

  private func connectResponse(_ context: UnsafeMutableRawPointer) {
    easy.set(CURLOPT_HEADERDATA, pointer: context)
    _ = waystation_curl_set_data_callback(easy.pointer, CURLOPT_HEADERFUNCTION) {
      bytes, size, count, context in
      guard let bytes, let context else { return 0 }
      // Sound: libcurl calls this within `send`, which holds the object.
      let conversation = Unmanaged<Conversation>.fromOpaque(context).takeUnretainedValue()
      let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
      line.withMemoryRebound(to: UInt8.self) { conversation.takeHeader($0.span) }
      return size * count
    }
    easy.set(CURLOPT_WRITEDATA, pointer: context)
    _ = waystation_curl_set_data_callback(easy.pointer, CURLOPT_WRITEFUNCTION) {
      bytes, size, count, context in
      guard let bytes, let context else { return 0 }
      // Sound: libcurl calls this within `send`, which holds the object.
      let conversation = Unmanaged<Conversation>.fromOpaque(context).takeUnretainedValue()
      return conversation.take(bytes, size * count) ? size * count : 0
    }
  }

  /// Whether the request may be written on the connection that libcurl has chosen.
  private func mayBegin(localPort: Int32) -> Bool {
    guard mayRepeat || beginCount == 0 else {
      permit = .refused(.wouldRepeat)
      return false
    }
    permit = easy.connections.permit(
      easy, localPort: localPort, isSecure: server.isSecure, isNew: mustConnectAnew)
    guard permit == .granted else { return false }
    easy.connections.noteRequest(localPort: localPort)
    beginCount += 1
    return true
  }

  /// Takes a line of the response's header; what cannot be read is left out.
  private func takeHeader(_ line: Span<UInt8>) {
    _ = head.receive(line)
  }

  private func take(_ bytes: UnsafeMutablePointer<CChar>, _ count: Int) -> Bool {
    let status = waystation_curl_long_info(easy.pointer, CURLINFO_RESPONSE_CODE)
    let goesOn = bytes.withMemoryRebound(to: UInt8.self, capacity: count) {
      receive(Int(status), UnsafeBufferPointer(start: $0, count: count))
    }
    isStopped = !goesOn
    return goesOn
  }

  /// Makes a request, and passes on the response's body piece by piece.
  ///
  /// - Parameters:
  ///   - target: Path and query, escaped.
  ///   - fields: Header lines, as in `Accept: text/plain`, without control characters.
  ///   - timeoutMs: The longest time for all of it; nil for no limit.
  ///   - receive: Called with the status and each piece; false ends the request.
  /// - Throws: The reason that there is no whole response; not if `receive` ended it.
  package func send(
    _ method: String, _ target: String, fields: [String], body: [UInt8]? = nil, timeoutMs: Int?,
    receive: @escaping (Int, UnsafeBufferPointer<UInt8>) -> Bool
  ) throws(Failure) -> Answer {
    let call = Call(
      method: method, target: target, fields: fields, body: body.map { .bytes($0) } ?? .none,
      timeoutMs: timeoutMs)
    return try send(call, receive: receive)
  }

  /// Makes a request, and passes on the response's body piece by piece.
  ///
  /// - Parameter receive: Called with the status and each piece; false ends the request.
  /// - Throws: The reason that there is no whole response; not if `receive` ended it.
  package func send(
    _ call: Call, receive: @escaping (Int, UnsafeBufferPointer<UInt8>) -> Bool
  ) throws(Failure) -> Answer {
    try take(call.body)
    self.receive = receive
    watch = ProgressWatch(totalBytes: body.byteCount, tell: call.progress)
    isStopped = false
    beginCount = 0
    head = ResponseHead(bytesMax: Self.headBytesMax)
    defer {
      self.receive = { _, _ in true }
      watch = ProgressWatch()
      body = OutgoingBody()
    }
    let code = withFields(call) { perform(call) }
    let status = waystation_curl_long_info(easy.pointer, CURLINFO_RESPONSE_CODE)
    guard code == CURLE_OK || isStopped else { throw failure(code, call) }
    watch.end()
    let pause = waystation_curl_offset_info(easy.pointer, CURLINFO_RETRY_AFTER)
    return Answer(
      status: Int(status), fields: head.isComplete ? head.headers() : HeaderBlock(),
      retryAfterSeconds: pause > 0 ? Int(pause) : nil)
  }

  private func take(_ content: Content) throws(Failure) {
    guard let content = OutgoingBody(content) else {
      throw Failure(reason: "its body cannot be read", mayPass: false)
    }
    body = content
  }

  /// Sets URL and header lines for the length of a request.
  private func withFields(_ call: Call, _ perform: () -> CURLcode) -> CURLcode {
    let origin =
      switch server {
      case .url(let url): url.description
      case .unix: "http://localhost"
      }
    easy.clearError()
    easy.set(CURLOPT_URL, origin + call.target)
    var list: UnsafeMutablePointer<curl_slist>?
    defer { curl_slist_free_all(list) }
    // With "Expect" libcurl would ask before it sends a large body, and wait for a second.
    for line in call.fields + ["Expect:"] { list = curl_slist_append(list, line) ?? list }
    easy.setHeaders(list)
    return perform()
  }

  /// Makes the request on a kept connection, or on a new one if the kept one is not usable any
  /// more: nothing was written on it.
  private func perform(_ call: Call) -> CURLcode {
    let startedAt = MonotonicClock.now()
    easy.set(CURLOPT_TIMEOUT_MS, call.timeoutMs ?? 0)
    easy.mustConnectAnew(false)
    mustConnectAnew = false
    setMethod(call)
    let code = run(until: call.stop)
    guard code == CURLE_ABORTED_BY_CALLBACK, permit == .elsewhere else { return code }
    if let timeoutMs = call.timeoutMs {
      let passedMs = MonotonicClock.now().milliseconds(since: startedAt)
      easy.set(CURLOPT_TIMEOUT_MS, max(timeoutMs - Int(clamping: passedMs), 1))
    }
    easy.clearError()
    easy.mustConnectAnew(true)
    mustConnectAnew = true
    return run(until: call.stop)
  }

  private func setMethod(_ call: Call) {
    easy.set(CURLOPT_NOBODY, 0)
    easy.set(CURLOPT_POSTFIELDS, pointer: body.memory)
    easy.set(CURLOPT_POSTFIELDSIZE_LARGE, offset: body.byteCount)
    switch call.body {
    // Without POSTFIELDS the body comes from the read callback.
    case .bytes, .pieces: easy.set(CURLOPT_POST, 1)
    case .none where call.method == "HEAD": easy.set(CURLOPT_NOBODY, 1)
    case .none: easy.set(CURLOPT_HTTPGET, 1)
    }
    easy.set(CURLOPT_NOPROGRESS, call.progress == nil ? 1 : 0)
    easy.set(CURLOPT_CUSTOMREQUEST, call.method)
  }

  /// Runs the transfer to its end, or until somebody stops it.
  private func run(until stop: Stop?) -> CURLcode {
    permit = .granted
    guard shared.multi.add(easy) else { return CURLE_FAILED_INIT }
    stop?.attach(shared)
    defer {
      stop?.detach()
      shared.multi.remove(easy)
    }
    while stop?.isStopped != true {
      shared.multi.perform()
      if let (_, code) = shared.multi.nextEnded(Conversation.self) { return code }
      shared.multi.wait(milliseconds: Self.waitMs)
    }
    return CURLE_ABORTED_BY_CALLBACK
  }

  private func failure(_ code: CURLcode, _ call: Call) -> Failure {
    var failure = failure(code, isStopped: call.stop?.isStopped == true)
    failure.mayHaveArrived = beginCount > 0
    return failure
  }

  private func failure(_ code: CURLcode, isStopped: Bool) -> Failure {
    if code == CURLE_ABORTED_BY_CALLBACK, isStopped {
      return Failure(reason: "the request was given up here", mayPass: true)
    }
    if code == CURLE_ABORTED_BY_CALLBACK, case .refused(let refusal) = permit {
      return Failure(reason: refusal.words, mayPass: refusal != .peerSpokeFirst)
    }
    let kind = TransferFailure.kind(of: code)
    let words = words(for: code)
    let visible = words.utf8.map { $0 >= 0x20 && $0 < 0x7F ? $0 : UInt8(ascii: "?") }
    let mayPass = kind == .connect || kind == .timeout || kind == .cut || kind == .nameResolution
    return Failure(reason: String(decoding: visible, as: UTF8.self), mayPass: mayPass)
  }

  /// The reason, for a sentence that names the server.
  private func words(for code: CURLcode) -> String {
    let words = easy.error.isEmpty ? String(cString: curl_easy_strerror(code)) : easy.error
    let addition = TransferFailure.addition(code, words, osError: easy.osError, isDirect: true)
    guard addition.isEmpty else { return addition }
    return code == CURLE_COULDNT_RESOLVE_HOST ? "its name could not be resolved" : words
  }
}
