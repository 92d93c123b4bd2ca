import CCurl
import EventLoop
import RelayCore

// The decision right before a request is written.
extension Transfer {
  /// Notes that the request is about to be written on a connection; false if it must not be.
  ///
  /// libcurl writes a request again if its kept connection ends without a response. The upstream
  /// may have taken the request nevertheless, and some must not get it twice.
  func begin(localPort: Int32) -> Bool {
    guard target.mayRepeat || (beginCount == 0 && !wasBegunBefore) else {
      refusal = .refused(.wouldRepeat)
      return false
    }
    let permit = handle.connections.permit(
      handle, localPort: localPort, isSecure: target.url.scheme == .https, isNew: isOnItsOwn,
      mayUseHTTP2: target.mayUseHTTP2)
    guard permit == .granted else {
      refusal = permit
      return false
    }
    guard mayWrite() || TokenDesk.isFetch(serial) else {
      refusal = .refused(.leaseLapsed)
      return false
    }
    handle.connections.noteRequest(localPort: localPort, to: target)
    requestStart = RequestStart(localPort: localPort, at: MonotonicClock.now())
    beginCount += 1
    return true
  }

  /// Ends the attempt's connection if it is dead, so that nothing more is sent on it.
  ///
  /// It is dead if the attempt has taken too long, and in all that time nothing has come for any of
  /// the connection's requests.
  ///
  /// Of a request over HTTP/2, libcurl gives up only the request itself, and would use the
  /// connection for ever.
  ///
  /// Called after the handle was removed from the multi handle, and before it is used again.
  func leaveConnectionIfDead(at now: Now) {
    guard let requestStart else { return }
    let silenceMs = requestStart.silenceThatProvesDeathMs(
      attemptBegan: startedAt.monotonic, idleTimeoutMs: target.idleTimeoutMs, at: now.monotonic)
    guard let silenceMs else { return }
    handle.connections.end(localPort: requestStart.localPort, ifSilentForMs: silenceMs)
  }

  /// Whether the attempt ended only because its request must not be written on the connection that
  /// libcurl had chosen.
  func wantsNewConnection(_ code: CURLcode) -> Bool {
    code == CURLE_ABORTED_BY_CALLBACK && refusal == .elsewhere
  }
}

extension WritePermit.Refusal {
  /// The reason in a few words.
  var words: String {
    switch self {
    case .wouldRepeat: "the request may have arrived already"
    case .peerSpokeFirst: "the peer spoke before it was asked anything"
    case .peerEnded: "the peer ended the connection before it was asked anything"
    case .leaseLapsed: ConnectionFailure.brokenOff.sentence
    }
  }

  /// The reported event of an attempt whose request was not written, or not again.
  func event(target: UpstreamTarget, bytesMax: Int) -> AttemptEvent {
    if self == .leaseLapsed { return .failed(.brokenOff, detail: words) }
    let code = self == .peerSpokeFirst ? CURLE_WEIRD_SERVER_REPLY : CURLE_GOT_NOTHING
    let detail = TransferFailure.detail(code, words: words, target: target, bytesMax: bytesMax)
    return .failed(TransferFailure.kind(of: code), detail: detail)
  }
}
