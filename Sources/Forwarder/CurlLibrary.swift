import CCurl

/// libcurl as a whole.
package enum CurlLibrary {
  /// Version and TLS library, such as `libcurl/7.88.1 OpenSSL/3.0.11`; for `waystation version`.
  package static var version: String {
    String(cString: curl_version()).split(separator: " ")
      .filter { $0.hasPrefix("libcurl/") || $0.hasPrefix("OpenSSL/") || $0.hasPrefix("nghttp2/") }
      .joined(separator: " ")
  }

  /// Prepares the library, the first time that it is called.
  ///
  /// Once per process and before any other call: curl_global_init(3).
  static func prepare() { _ = isPrepared }

  private static let isPrepared: Bool = {
    let code = waystation_curl_global_init()
    precondition(code == CURLE_OK, "libcurl could not be initialised: \(code.rawValue)")
    return true
  }()
}
