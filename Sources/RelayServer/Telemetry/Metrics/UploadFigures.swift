/// Counts of uploads since the start, and what is open now.
struct UploadFigures: Sendable {
  /// What becomes of uploads.
  enum Event: String, CaseIterable, Sendable {
    /// It was begun.
    case created
    /// It has become an envelope.
    case completed
    /// Its sender has given it up.
    case cancelled
    /// It, or its envelope, could not be taken.
    case refused
    /// Nothing of it has come for too long.
    case expired
  }

  /// The number of uploads that are open.
  var open = 0
  /// The bytes that they claim of quotas.
  var openBytes: Int64 = 0
  /// The number of events since the start.
  var counts: [Event: UInt64] = [:]
}
