/// How far a store may fill the disk.
package struct DiskLimits: Sendable, Equatable {
  /// The most bytes that the store may take on disk; nil for as many as the disk has.
  ///
  /// Its log and free pages are left out. Past it, appends fail as on a full disk.
  package var storeBytesMax: Int64?
  /// How much of the disk new envelopes leave free; nil for ``reserve(ofDisk:)``'s own figure.
  package var reserveBytes: Int64?
  /// The largest post that a sender may make, in bytes.
  package var postBytesMax: Int64
  /// The most bytes that the log may hold; past it, appends fail as on a full disk.
  package var logBytesMax: Int64

  /// No limit but those of the disk, and the defaults.
  package init(
    storeBytesMax: Int64? = nil, reserveBytes: Int64? = nil, postBytesMax: Int64 = 0,
    logBytesMax: Int64? = nil
  ) {
    self.storeBytesMax = storeBytesMax
    self.reserveBytes = reserveBytes
    self.postBytesMax = postBytesMax
    self.logBytesMax = logBytesMax ?? StoreTuning.logBytesMax
  }

  /// How much of a disk of this size new envelopes leave to the outcomes of those that were
  /// accepted, in bytes.
  ///
  /// Unless it is said otherwise, half as much again as the largest post, as Postfix does with its
  /// messages (postconf(5), `queue_minfree`), and no less than what the log may need; but never
  /// more than a share of a small disk.
  package func reserve(ofDisk bytes: Int64) -> Int64 {
    if let reserveBytes { return reserveBytes }
    let wanted = max(StoreTuning.diskBytesReserved, postBytesMax / 2 * 3)
    return min(wanted, bytes / StoreTuning.diskShareReserved)
  }

  /// Past how many bytes in the log a checkpoint begins.
  var checkpointBytes: Int64 { min(StoreTuning.checkpointBytes, logBytesMax / 4) }
}
