import RelayCore

/// Notices when the forwarder's thread turns and turns with nothing to do, and has it pause.
///
/// libcurl 7.88 waits until it can write on an HTTP/2 connection though the peer has opened no
/// window for the body (RFC 9113 section 5.2): each wait ends at once, for as long as the attempt
/// lasts.
package struct SpinGuard {
  /// After so many turns with nothing to do it looks closer.
  package static let idleTurnsMax = 16
  /// A wait that is shorter has ended at once, in nanoseconds.
  package static let shortWaitNs: Int64 = 1_000_000
  /// How long a pause is, in milliseconds.
  package static let pauseMs: Int32 = 5

  private var idleTurns = 0
  private var movedBytes: Int64 = -1

  /// Begins with nothing seen.
  package init() {}

  /// A turn has ended.
  ///
  /// - Parameters:
  ///   - waitedNs: How long it waited, in nanoseconds.
  ///   - hasChanged: Whether an attempt began or ended.
  /// - Returns: Whether the bytes are to be counted that have moved, for
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
  ///   - movedBytes: How many bytes of requests and answers have moved in the attempts under way.
  ///   - isUploadHeld: Whether one of them has a body of which a part is still to be written.
  ///     Without one there is no such spinning, and turns that move no bytes shake hands.
  package mutating func mustPause(movedBytes: Int64, isUploadHeld: Bool) -> Bool {
    let isStill = isUploadHeld && movedBytes == self.movedBytes
    self.movedBytes = movedBytes
    if !isStill { idleTurns = 0 }
    return isStill
  }
}
