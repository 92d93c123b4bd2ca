import RelayCore

/// Notices when the forwarder's thread loops with nothing to do, and makes it pause.
///
/// libcurl 7.88 waits until it can write on an HTTP/2 connection, even if the peer has opened no
/// window for the body (RFC 9113 section 5.2). Then each wait ends at once, as long as the attempt
/// lasts.
package struct SpinGuard {
  /// The number of idle turns after which it counts moved bytes.
  package static let idleTurnsMax = 16
  /// The length of the shortest real wait, in nanoseconds: a shorter one has ended at once.
  package static let shortWaitNs: Int64 = 1_000_000
  /// The length of a pause in milliseconds.
  package static let pauseMs: Int32 = 5

  private var idleTurns = 0
  private var movedBytes: Int64 = -1

  /// Starts without turns.
  package init() {}

  /// Notes the end of a turn.
  ///
  /// - Parameters:
  ///   - waitedNs: The length of its wait in nanoseconds.
  ///   - hasChanged: Whether an attempt began or ended.
  /// - Returns: Whether the moved bytes have to be counted for
  ///   ``mustPause(movedBytes:isUploadHeld:)``.
  package mutating func turnEnds(waitedNs: Int64, hasChanged: Bool) -> Bool {
    guard waitedNs < Self.shortWaitNs, !hasChanged else {
      idleTurns = 0
      return false
    }
    idleTurns = min(idleTurns + 1, Self.idleTurnsMax)
    return idleTurns == Self.idleTurnsMax
  }

  /// Whether to pause now.
  ///
  /// - Parameters:
  ///   - movedBytes: The number of bytes of requests and responses that have moved in the running
  ///     attempts.
  ///   - isUploadHeld: Whether one of them still has to write a part of its body. Without one there
  ///     is no such spinning, and turns that move no bytes belong to handshakes.
  package mutating func mustPause(movedBytes: Int64, isUploadHeld: Bool) -> Bool {
    let isStill = isUploadHeld && movedBytes == self.movedBytes
    self.movedBytes = movedBytes
    if !isStill { idleTurns = 0 }
    return isStill
  }
}
