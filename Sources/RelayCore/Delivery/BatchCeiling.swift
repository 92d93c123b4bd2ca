/// How large the requests of an upstream may be in which envelopes go together, as its refusals
/// for their size (413) have shown.
///
/// It counts bytes, since that is what 413 speaks of (RFC 9110 section 15.5.14): one large envelope
/// then does not make requests of small ones short. It is half of what was refused, or what was
/// taken meanwhile if that is more. After so many requests that fill at least half of it, a little
/// more is tried; each try that is refused makes the next one wait longer. Once as much is taken as
/// was refused at first, it is forgotten.
package struct BatchCeiling: Sendable, Equatable {
  /// The requests that are taken before more is tried, at first and at most.
  static let patienceMin = 16
  static let patienceMax = 1024
  /// The share by which more is tried, as a divisor.
  static let stepDivisor = 4
  /// How many times as many envelopes are put together as went in such a request lately: the next
  /// ones may be smaller.
  static let itemsFactor = 2

  /// The most bytes of a request's body, before it is compressed; nil for no limit.
  ///
  /// A single envelope may have more.
  package private(set) var bytes: Int?
  /// The most bytes that were refused.
  private var peak = 0
  /// The most bytes that several envelopes had together and were taken, since it was lowered.
  private var takenBytes = 0
  /// The requests taken since it was changed.
  private var takenCount = 0
  private var patience = Self.patienceMin
  /// Whether it was raised since it was lowered.
  private var wasRaised = false
  /// The bytes of an envelope in the latest request.
  private var itemBytes = 1

  /// No limit.
  package init() {}

  /// The most envelopes that are to be put together, so that few are left over.
  package func itemsMax(_ most: Int) -> Int {
    guard let bytes else { return most }
    return min(most, max(1, bytes / itemBytes) * Self.itemsFactor)
  }

  /// Whether a request may be larger than by another one.
  package func allowsMore(than other: BatchCeiling) -> Bool {
    guard let most = other.bytes else { return false }
    return bytes.map { $0 > most } ?? true
  }

  /// Notes that a request was refused for its size.
  ///
  /// - Parameters:
  ///   - refused: The bytes of its body, before it was compressed.
  ///   - items: The number of its envelopes, at least 2: a single one is refused for itself.
  /// - Returns: Whether the limit is lower now; it is not where the request began before it was
  ///   lowered.
  package mutating func refused(bytes refused: Int, items: Int) -> Bool {
    guard items > 1, refused <= bytes ?? .max else { return false }
    let isBetween = takenBytes < refused && takenBytes >= refused / 2
    let limit = max(1, isBetween ? takenBytes : refused / 2)
    if wasRaised { patience = min(patience * 2, Self.patienceMax) }
    peak = max(peak, refused)
    itemBytes = max(1, refused / items)
    (bytes, takenBytes, takenCount, wasRaised) = (limit, isBetween ? takenBytes : 0, 0, false)
    return true
  }

  /// Notes that a request was taken, or answered with a result for each envelope.
  package mutating func taken(bytes taken: Int, items: Int) {
    guard let limit = bytes, items > 0 else { return }
    itemBytes = max(1, taken / items)
    if items > 1 {
      guard taken < peak else {
        self = BatchCeiling()
        return
      }
      takenBytes = max(takenBytes, taken)
      guard taken <= limit else {
        (bytes, takenCount) = (taken, 0)
        return
      }
    }
    guard taken >= limit / 2 else { return }
    takenCount += 1
    guard takenCount >= patience else { return }
    (bytes, takenCount, wasRaised) = (limit + max(1, limit / Self.stepDivisor), 0, true)
  }
}
