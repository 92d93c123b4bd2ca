import RelayCore

/// The envelopes at the heads of blocked lanes of which something has changed since the last look,
/// so that what is remembered of them does not hold any more.
struct ChangedHeads: Sendable {
  /// The most that are told apart: from there on all may have changed.
  static let countMax = 10_000

  private var serials: Set<Serial> = []
  private var isFull = false

  /// Notes changes.
  mutating func note(_ transitions: [Transition]) {
    for transition in transitions {
      switch transition.change {
      case .block: note(transition.serial)
      case .edit(let edit): if edit.entry.standing == .blocked { note(transition.serial) }
      case .begin, .retry, .end, .release, .requeue: break
      }
    }
  }

  /// Notes what a later post has taken the place of.
  mutating func note(_ envelopes: [CoalescedEnvelope]) {
    for envelope in envelopes where envelope.entry.standing == .blocked {
      note(envelope.entry.serial)
    }
  }

  private mutating func note(_ serial: Serial) {
    guard !isFull else { return }
    serials.insert(serial)
    if serials.count > Self.countMax { (isFull, serials) = (true, []) }
  }

  /// Removes what is remembered of those that have changed.
  func forget<Value>(in known: inout [Serial: Value]) {
    if isFull { known = [:] }
    for serial in serials { known[serial] = nil }
  }
}
