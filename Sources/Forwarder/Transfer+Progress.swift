import CCurl
import RelayCore

// How far a transfer has come, asked of libcurl where somebody wants to know: nothing is counted
// per piece of a body but what the answer's collector counts anyway.
extension Transfer {
  /// How far it has come.
  var progress: AttemptProgress {
    AttemptProgress(
      serial: serial, startedAt: startedAt.wall, sentBytes: acknowledgedBytes,
      bodyBytes: bodyByteCount, receivedBytes: receivedBytes)
  }

  /// How many bytes of the body the connection has been given.
  ///
  /// Never less than what has left: libcurl may count the end of the header in where that had to be
  /// sent in two pieces, and the body twice where it had to be sent anew.
  var writtenBytes: Int64 {
    Int64(waystation_curl_offset_info(handle.pointer, CURLINFO_SIZE_UPLOAD_T))
  }

  /// How many bytes of the body have reached the peer's side, as far as can be known.
  ///
  /// Megabytes may sit in the socket's buffer, minutes on a slow link. The buffer counts encrypted
  /// bytes where there is TLS, and all streams of an HTTP/2 connection, so that the figure is too
  /// low rather than too high.
  private var acknowledgedBytes: Int64 {
    let pending = Int64(waystation_curl_unacknowledged_bytes(handle.pointer))
    return min(max(writtenBytes - pending, 0), bodyByteCount)
  }
}
