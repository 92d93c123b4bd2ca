import CCurl
import EventLoop
import RelayCore

// What is decided at the last moment before a request is written.
extension Transfer {
  /// The request is about to be written on a connection; false if it must not be.
  ///
  /// libcurl writes a request again if the connection that it had been kept ready on ends without
  /// an answer. The upstream may have taken it all the same, and some must not get it twice.
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
    handle.connections.noteRequest(localPort: localPort, to: target)
    beginning = Beginning(localPort: localPort, at: MonotonicClock.now())
    beginCount += 1
    return true
  }

  /// Sees to it that nothing more goes on the attempt's connection if that is dead: the attempt has
  /// taken too long, and in all that time nothing has come for any of the connection's requests.
  ///
  /// Of a request over HTTP/2 libcurl gives up no more than the request itself, and would use the
  /// connection for ever.
  ///
  /// Called when the handle has been taken out of the multi handle, and before it is used again.
  func leaveConnectionIfDead(at now: Now) {
    guard let beginning else { return }
    let silenceMs = beginning.silenceThatProvesDeathMs(
      attemptBegan: startedAt.monotonic, idleTimeoutMs: target.idleTimeoutMs, at: now.monotonic)
    guard let silenceMs else { return }
    handle.connections.end(localPort: beginning.localPort, ifSilentForMs: silenceMs)
  }

  /// Whether the attempt ended only since its request must not be written on the connection that
  /// libcurl had chosen.
  func wantsNewConnection(_ code: CURLcode) -> Bool {
    code == CURLE_ABORTED_BY_CALLBACK && refusal == .elsewhere
  }
}

extension WritePermit.Refusal {
  /// What happened, in a few words.
  var words: String {
    switch self {
    case .wouldRepeat: "the request may have arrived already"
    case .peerSpokeFirst: "the peer spoke before it was asked anything"
    case .peerEnded: "the peer ended the connection before it was asked anything"
    }
  }

  /// What is reported of an attempt whose request was not written, or not once more.
  func event(target: UpstreamTarget, bytesMax: Int) -> AttemptEvent {
    let code = self == .peerSpokeFirst ? CURLE_WEIRD_SERVER_REPLY : CURLE_GOT_NOTHING
    let detail = TransferFailure.detail(code, words: words, target: target, bytesMax: bytesMax)
    return .failed(TransferFailure.kind(of: code), detail: detail)
  }
}
