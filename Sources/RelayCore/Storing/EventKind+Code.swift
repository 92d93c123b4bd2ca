/// The codes of event kinds in a database, whichever it is.
///
/// Fixed for good.
extension EventKind {
  /// The kind's code, from 1; the next new kind takes the next number.
  package var code: UInt8 {
    switch self {
    case .accepted: 1
    case .attempted: 2
    case .blocked: 3
    case .delivered: 4
    case .failed: 5
    case .expired: 6
    case .cancelled: 7
    case .released: 8
    case .edited: 9
    case .requeued: 10
    case .paused: 11
    case .resumed: 12
    case .unreachable: 13
    case .reachable: 14
    case .started: 15
    case .placed: 16
    case .gapSkipped: 17
    case .coalesced: 20
    }
  }

  private static let byCode: [UInt8: EventKind] = Dictionary(
    uniqueKeysWithValues: allCases.map { ($0.code, $0) })

  /// The kind of this code; nil for one that this program does not know.
  package init?(code: UInt8) {
    guard let kind = Self.byCode[code] else { return nil }
    self = kind
  }
}
