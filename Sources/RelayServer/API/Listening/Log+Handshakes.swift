import HTTPServer

extension Log {
  /// Tells of a TLS handshake that failed: now and then, however many fail.
  ///
  /// Without it nobody could see why a device's certificate is refused; without the limit whoever
  /// tries ports could fill the log.
  func tell(_ failure: FailedHandshake) {
    repeating(
      .info, "TLS handshake failed", about: "", .steady,
      ("listener", .integer(Int64(failure.listener))), ("peer", .text(failure.peer)),
      ("reason", .text(failure.reason)))
  }
}
