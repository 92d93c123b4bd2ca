import CCurl
import RelayCore

// How far a transfer has come, asked of libcurl where somebody wants to know: nothing is counted
// per piece of a body but what the answer's collector counts anyway.
extension Transfer {
  /// How far it has come.
  var progress: AttemptProgress {
    AttemptProgress(
      serial: serial, startedAt: startedAt.wall, sentBytes: min(writtenBytes, bodyByteCount),
      bodyBytes: bodyByteCount, receivedBytes: receivedBytes)
  }

  /// How many bytes of the body the connection has been given.
  ///
  /// Never less than what has left: libcurl may count the end of the header in where that had to be
  /// sent in two pieces, and the body twice where it had to be sent anew.
  var writtenBytes: Int64 {
    Int64(waystation_curl_offset_info(handle.pointer, CURLINFO_SIZE_UPLOAD_T))
  }

  /// How many bytes have moved in either direction, as far as this counts them.
  var movedBytes: Int64 { writtenBytes + receivedBytes + headerBytes }

  /// Whether it has a connection, and a part of the request's body is still to be written on it.
  var holdsUpload: Bool { beginCount > 0 && writtenBytes < bodyByteCount }

  /// Whether the upstream may have got the whole request.
  ///
  /// In doubt it may: a header without a body that has left in part counts, and so does a request
  /// that libcurl has begun twice, since a kept connection had died, whatever became of the second.
  var isWritten: Bool {
    if wasBegunBefore || beginCount > 1 || refusal == .refused(.wouldRepeat) { return true }
    guard beginCount > 0 else { return false }
    return waystation_curl_long_info(handle.pointer, CURLINFO_REQUEST_SIZE) > 0
      && writtenBytes >= bodyByteCount
  }

  /// For how many milliseconds no byte has moved in either direction.
  func silenceMs(at now: MonotonicTime) -> Int64 {
    let signs = SignsOfLife(
      beginCount: beginCount, writtenBytes: writtenBytes,
      receivedBytes: receivedBytes + headerBytes)
    return silence.lengthMs(with: signs, at: now)
  }

  /// What is said of one that was silent for too long.
  var silenceDetail: String {
    "\(target.url.authority) took too long: no byte moved for \(target.idleTimeoutMs ?? 0) ms"
  }
}
