import CCurl
import RelayCore

// The progress of a transfer, read from libcurl on request: nothing is counted for each piece of a
// body beyond what the response's collector counts anyway.
extension Transfer {
  /// Its progress.
  var progress: AttemptProgress {
    AttemptProgress(
      serial: serial, startedAt: startedAt.wall, sentBytes: min(writtenBytes, bodyByteCount),
      bodyBytes: bodyByteCount, receivedBytes: receivedBytes)
  }

  /// The number of bytes of the body that were written on the connection.
  ///
  /// It is never too low. libcurl may include the end of the header if that had to be sent in two
  /// pieces, and count the body twice if it had to be sent again.
  var writtenBytes: Int64 {
    Int64(waystation_curl_offset_info(handle.pointer, CURLINFO_SIZE_UPLOAD_T))
  }

  /// The number of bytes moved in either direction, as far as libcurl counts them.
  var movedBytes: Int64 { writtenBytes + receivedBytes + headerBytes }

  /// Whether it has a connection, but a part of the request's body has still to be written.
  var holdsUpload: Bool { beginCount > 0 && writtenBytes < bodyByteCount }

  /// Whether the upstream may have received the whole request.
  ///
  /// In doubt it may: a header without a body counts if a part of it was sent. So does a request
  /// that libcurl has begun twice because a kept connection had died, whatever happened to the
  /// second.
  var isWritten: Bool {
    if wasBegunBefore || beginCount > 1 || refusal == .refused(.wouldRepeat) { return true }
    guard beginCount > 0 else { return false }
    return waystation_curl_long_info(handle.pointer, CURLINFO_REQUEST_SIZE) > 0
      && writtenBytes >= bodyByteCount
  }

  /// The time for which no byte has moved in either direction, in milliseconds.
  func silenceMs(at now: MonotonicTime) -> Int64 {
    let signs = SignsOfLife(
      beginCount: beginCount, writtenBytes: writtenBytes,
      receivedBytes: receivedBytes + headerBytes)
    return silence.lengthMs(with: signs, at: now)
  }

  /// The message for a transfer that was silent for too long.
  var silenceDetail: String {
    "\(target.url.authority) took too long: no byte moved for \(target.idleTimeoutMs ?? 0) ms"
  }
}
