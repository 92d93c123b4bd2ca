import COpenSSL

/// OpenSSL's error queue, of which each thread has its own (ERR_get_error(3)).
enum OpenSSLErrors {
  /// Empties the queue, so that errors found later belong to the next call.
  static func clear() { ERR_clear_error() }

  /// The library-independent reason of the earliest error; 0 if there is none.
  static var reasonCode: Int32 { ERR_GET_REASON(ERR_peek_error()) }

  /// Returns the earliest error in OpenSSL's words, and empties the queue.
  static func takeReason() -> String {
    defer { ERR_clear_error() }
    guard let text = ERR_reason_error_string(ERR_peek_error()) else { return "no reason is known" }
    return String(cString: text)
  }
}
