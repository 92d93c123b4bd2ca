/// The limits on how far a store may fill the disk.
package struct DiskLimits: Sendable, Equatable {
  /// The most bytes that the store may take on disk; nil for no limit but the disk's.
  ///
  /// Its log and free pages do not count. Beyond it, appends fail as on a full disk.
  package var storeBytesMax: Int64?
  /// The bytes of the disk that new envelopes leave free; nil for the default of
  /// ``reserve(ofDisk:)``.
  package var reserveBytes: Int64?
  /// The largest post that a sender may make, in bytes.
  package var postBytesMax: Int64
  /// The most bytes of the log; beyond it, appends fail as on a full disk.
  package var logBytesMax: Int64

  /// Sets no limits but the disk's and the defaults.
  package init(
    storeBytesMax: Int64? = nil, reserveBytes: Int64? = nil, postBytesMax: Int64 = 0,
    logBytesMax: Int64? = nil
  ) {
    self.storeBytesMax = storeBytesMax
    self.reserveBytes = reserveBytes
    self.postBytesMax = postBytesMax
    self.logBytesMax = logBytesMax ?? StoreTuning.logBytesMax
  }

  /// The bytes of a disk of this size that new envelopes leave for the outcomes of accepted ones.
  ///
  /// By default it is half as much again as the largest post, as Postfix does with its messages
  /// (postconf(5), `queue_minfree`), and no less than the log may need; but never more than a share
  /// of a small disk.
  package func reserve(ofDisk bytes: Int64) -> Int64 {
    if let reserveBytes { return reserveBytes }
    let wanted = max(StoreTuning.diskBytesReserved, postBytesMax / 2 * 3)
    return min(wanted, bytes / StoreTuning.diskShareReserved)
  }

  /// The bytes in the log at which a checkpoint begins.
  var checkpointBytes: Int64 { min(StoreTuning.checkpointBytes, logBytesMax / 4) }
}
