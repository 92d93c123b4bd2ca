import CCurl
import RelayCore

/// libcurl's result codes in the relay's words.
enum TransferFailure {
  /// The kind of failure for a result code; libcurl-errors(3) lists them all.
  static func kind(of code: CURLcode) -> ConnectionFailure {
    switch code {
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

  /// A sentence on what happened.
  ///
  /// Host and port are all that it says about the request: no query, no header, no credential.
  /// libcurl's own words follow; they name hosts, ports and times.
  static func detail(
    _ code: CURLcode, words: String, target: UpstreamTarget, bytesMax: Int
  ) -> String {
    let authority = target.url.authority
    let sentence =
      switch kind(of: code) {
      case .nameResolution: "the name of \(authority) could not be resolved"
      case .connect: "no connection to \(authority) could be made"
      case .tls: "the connection to \(authority) could not be secured"
      case .timeout: "\(authority) took too long"
      case .cut: "\(authority) ended the connection in the middle"
      case .malformedResponse: "\(authority) sent what is no HTTP answer"
      case .local, .brokenOff: "the request to \(authority) could not be made"
      }
    let addition = words.isEmpty ? String(cString: curl_easy_strerror(code)) : words
    let text = "\(sentence): \(addition)"
    // The words may quote a peer.
    let visible = text.utf8.lazy.map { $0 >= 0x20 && $0 < 0x7F ? $0 : UInt8(ascii: "?") }
    return String(decoding: visible.prefix(bytesMax), as: UTF8.self)
  }
}
