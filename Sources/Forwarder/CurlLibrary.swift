import CCurl
import Cryptography

/// libcurl as a whole.
package enum CurlLibrary {
  /// The versions of libcurl and its TLS library, such as `libcurl/7.88.1 OpenSSL/3.0.11`; for
  /// `waystation version`.
  package static var version: String {
    String(cString: curl_version()).split(separator: " ")
      .filter { $0.hasPrefix("libcurl/") || $0.hasPrefix("OpenSSL/") || $0.hasPrefix("nghttp2/") }
      .joined(separator: " ")
  }

  /// Whether libcurl uses the very OpenSSL that this program has loaded, so that its sessions may
  /// be inspected here.
  static let sharesOpenSSL: Bool = {
    guard let library = waystation_curl_tls_library() else { return false }
    return String(cString: library) == "OpenSSL/\(ObservedTLSSession.libraryVersion)"
  }()

  /// Initialises the library at the first call.
  ///
  /// It has to come before any other call of the process: curl_global_init(3).
  static func prepare() { _ = isPrepared }

  private static let isPrepared: Bool = {
    OpenSSLLibrary.keepUntilEnd()
    let code = waystation_curl_global_init()
    precondition(code == CURLE_OK, "libcurl could not be initialised: \(code.rawValue)")
    return true
  }()
}
