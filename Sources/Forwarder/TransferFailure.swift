import CCurl
import EventLoop
import RelayCore

/// libcurl's result codes in the relay's words.
enum TransferFailure {
  /// The kind of failure for a result code; libcurl-errors(3) lists them all.
  ///
  /// - Parameter hasBegun: Whether a part of an answer has come. What libcurl cannot take then is
  ///   the answer's fault: it says "out of memory" of a header line that is too long for it.
  static func kind(of code: CURLcode, hasBegun: Bool = false) -> ConnectionFailure {
    switch code {
    case CURLE_OUT_OF_MEMORY where hasBegun: .malformedResponse
    case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .nameResolution
    case CURLE_COULDNT_CONNECT, CURLE_PROXY, CURLE_INTERFACE_FAILED: .connect
    case CURLE_OPERATION_TIMEDOUT: .timeout
    case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM,
      CURLE_SSL_CIPHER, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_CRL_BADFILE,
      CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_ENGINE_INITFAILED,
      CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_CLIENTCERT,
      CURLE_USE_SSL_FAILED:
      .tls
    case CURLE_GOT_NOTHING, CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_PARTIAL_FILE,
      CURLE_HTTP2_STREAM, CURLE_SEND_FAIL_REWIND:
      .cut
    case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL, CURLE_BAD_CONTENT_ENCODING,
      CURLE_HTTP2, CURLcode(rawValue: UInt32(waystation_curle_too_large)):
      .malformedResponse
    default: .local
    }
  }

  /// The kind of failure for a result code and libcurl's words: a server that ends the handshake
  /// over the relay's own certificate refuses the relay's credentials.
  static func kind(of code: CURLcode, words: String, hasBegun: Bool) -> ConnectionFailure {
    if isOfIdentity(words) { return .credentials }
    return proxyStatus(words) == nil ? kind(of: code, hasBegun: hasBegun) : .connect
  }

  /// Whether it is about the relay's own certificate that the server has ended the handshake.
  static func isOfIdentity(_ words: String) -> Bool {
    asksForIdentity(words) || refusesIdentity(words)
  }

  /// Whether a server that was shown no certificate may have ended the connection for that.
  ///
  /// The alert that would say so is lost where the server's reset overtakes it, and under TLS 1.2
  /// it is `handshake_failure`, which has other reasons, too.
  private static func mayAskForIdentity(
    _ code: CURLcode, _ words: String, hasBegun: Bool, target: UpstreamTarget
  ) -> Bool {
    guard target.url.scheme == .https, !hasBegun else { return false }
    switch kind(of: code) {
    case .cut: return true
    case .tls:
      return ["alert handshake failure", "SSL_ERROR_SYSCALL", "Connection reset by peer"].contains {
        words.holds($0)
      }
    default: return false
    }
  }

  /// The status with which a proxy has refused to connect to the upstream; nil if none has.
  private static func proxyStatus(_ words: String) -> Substring? {
    // Of libcurl since 7.87, and before.
    for prefix in ["CONNECT tunnel failed, response ", "Received HTTP code "]
    where words.hasPrefix(prefix) {
      return words.dropFirst(prefix.count).prefix { $0.isNumber }
    }
    return nil
  }

  /// Whether it is the upstream's certificate that did not hold.
  private static func isCertificate(_ code: CURLcode) -> Bool {
    [
      CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS,
      CURLE_SSL_PINNEDPUBKEYNOTMATCH,
    ].contains(code)
  }

  /// Whether the server has ended the handshake since it was shown no certificate (RFC 8446 section
  /// 6.2; under TLS 1.2 it sends `handshake_failure`, which has other reasons too).
  ///
  /// Under TLS 1.3 that comes after the request was written, and so as a failure in reading.
  private static func asksForIdentity(_ words: String) -> Bool {
    words.holds("alert certificate required")
  }

  /// Whether the server has ended the handshake over the certificate that it was shown.
  private static func refusesIdentity(_ words: String) -> Bool {
    [
      "bad certificate", "unknown ca", "certificate unknown", "certificate expired",
      "certificate revoked", "unsupported certificate", "access denied",
    ].contains { words.holds("alert \($0)") }
  }

  /// A sentence on what happened.
  ///
  /// Host and port are all that it says about the request: no query, no header, no credential.
  /// libcurl's own words follow, as far as they say more; they name hosts, ports and times.
  ///
  /// - Parameters:
  ///   - osError: The last `errno` of connecting; 0 if there is none.
  ///   - showsIdentity: Whether the server would be shown a certificate that holds, or has answered
  ///     on this connection without one.
  static func detail(
    _ code: CURLcode, words: String, osError: Int32 = 0, hasBegun: Bool = false,
    showsIdentity: Bool = true, target: UpstreamTarget, bytesMax: Int
  ) -> String {
    let authority = target.url.authority
    if let status = proxyStatus(words) {
      return "the proxy did not connect to \(authority): it answered \(status)"
    }
    let sentence =
      switch kind(of: code, hasBegun: hasBegun) {
      case .malformedResponse where code == CURLE_OUT_OF_MEMORY:
        "\(authority) sent a header with a line that is too long"
      case _ where asksForIdentity(words): "\(authority) asks for a client certificate"
      case _ where refusesIdentity(words): "\(authority) does not accept the client certificate"
      case .tls where sharesNoVersion(words):
        "\(authority) and the relay share no version of TLS (minTLSVersion)"
      case .tls where speaksNoTLS(words) && target.proxy != nil:
        "\(authority), or the proxy before it, speaks no TLS, and its url begins with https"
      case .tls where speaksNoTLS(words):
        "\(authority) speaks no TLS, and its url begins with https"
      case .nameResolution: "the name of \(authority) could not be resolved"
      case .connect where target.proxy != nil && code == CURLE_COULDNT_CONNECT:
        "no connection to the proxy before \(authority) could be made"
      case .connect: "no connection to \(authority) could be made"
      case .tls where isCertificate(code): "the certificate of \(authority) is not trusted"
      case .tls: "the connection to \(authority) could not be secured"
      case .timeout: "\(authority) took too long"
      case .cut: "\(authority) ended the connection in the middle"
      case .malformedResponse: "\(authority) sent what is no HTTP answer"
      case .local, .brokenOff, .token, .credentials, .notForwarded:
        "the request to \(authority) could not be made"
      }
    if hasBegun, code == CURLE_OUT_OF_MEMORY { return sentence }
    let words = words.isEmpty ? String(cString: curl_easy_strerror(code)) : words
    let addition = addition(code, words, osError: osError, isDirect: target.proxy == nil)
    let mayAsk =
      !showsIdentity && mayAskForIdentity(code, words, hasBegun: hasBegun, target: target)
    let text =
      (addition.isEmpty ? sentence : "\(sentence): \(addition)")
      + (mayAsk ? "; perhaps it wants a client certificate" : "")
    // The words may quote a peer.
    return text.visibleASCII(bytesMax: bytesMax)
  }

  /// Whether a peer, or OpenSSL, says that it takes none of the versions that the other one offers
  /// (RFC 8446 section 6.2, `protocol_version`).
  private static func sharesNoVersion(_ words: String) -> Bool {
    words.holds("alert protocol version") || words.holds("unsupported protocol")
  }

  /// Whether OpenSSL says that what came in place of a handshake is none, such as an HTTP answer.
  private static func speaksNoTLS(_ words: String) -> Bool {
    words.holds("wrong version number") || words.holds("packet length too long")
      || words.holds("http request")
  }

  /// What libcurl's words add to the sentence; empty if they only say it again.
  ///
  /// - Parameter isDirect: Whether no proxy stands between, of which the words would speak.
  static func addition(
    _ code: CURLcode, _ words: String, osError: Int32, isDirect: Bool
  ) -> String {
    // libcurl asks whom it is connected to, of a connection that the server has ended already.
    if words.hasPrefix("getpeername() failed") { return "" }
    if isCertificate(code) {
      for prefix in ["SSL certificate problem: ", "SSL: "] where words.hasPrefix(prefix) {
        return String(words.dropFirst(prefix.count))
      }
      return words
    }
    // Names are resolved on a thread of their own, so libcurl says this only of an attempt that has
    // waited for another one's connection until its own time was over.
    if code == CURLE_OPERATION_TIMEDOUT, words.hasPrefix("Failed to resolve ") {
      return "no connection was made in the attempt's time"
    }
    if code == CURLE_COULDNT_RESOLVE_HOST, words.hasPrefix("Could not resolve host: ") { return "" }
    // Such as "Failed to connect to 192.0.2.1 port 80 after 3 ms: Couldn't connect to server".
    guard code == CURLE_COULDNT_CONNECT, isDirect, words.hasPrefix("Failed to connect to ") else {
      return words
    }
    guard osError != 0 else { return "" }
    let reason = SystemError(code: osError, operation: "connect").reason
    return reason.prefix(1).lowercased() + reason.dropFirst()
  }
}
