import COpenSSL

/// OpenSSL's queue of errors, which each thread has for itself (ERR_get_error(3)).
enum OpenSSLErrors {
  /// Forgets what is in it, so that what is found next belongs to the call that follows.
  static func clear() { ERR_clear_error() }

  /// The library-independent reason of the earliest error; 0 if there is none.
  static var reasonCode: Int32 { ERR_GET_REASON(ERR_peek_error()) }

  /// The earliest error in OpenSSL's words, and empties the queue.
  static func takeReason() -> String {
    defer { ERR_clear_error() }
    guard let text = ERR_reason_error_string(ERR_peek_error()) else { return "no reason is known" }
    return String(cString: text)
  }
}
