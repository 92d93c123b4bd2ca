/// What somebody has been told of the list of needs, and is to be told next, and when.
///
/// A pure value. Each message tells how the list differs from the one that was told before. So what
/// could not be handed over is part of the next one, nothing is told out of order, and what began
/// and was over again in between is not told. It goes by the time between messages, however often
/// the list is looked at.
package struct NeedNews: Sendable {
  /// Where somebody is told.
  package struct Receiver: Sendable, Equatable {
    /// The upstream's name.
    package var upstream: String
    /// The path there.
    package var path: String

    /// Names a receiver.
    package init(upstream: String, path: String) {
      self.upstream = upstream
      self.path = path
    }
  }

  /// Why there is a message.
  package enum Occasion: String, Sendable {
    /// It is the first one since the relay was started.
    case started
    /// It is the first one since a reload has named who is told.
    case configured
    /// The list has changed.
    case changed
  }

  /// A message: what has changed since the one before, and the whole list.
  package struct Message: Sendable, Equatable {
    /// Why there is one.
    package var occasion: Occasion
    /// What was not there before.
    package var began: [Need]
    /// What presses more, or less, than before.
    package var changed: [Need]
    /// What is over.
    package var ended: [Need]
    /// All that needs somebody now, in the order of display.
    package var needs: [Need]

    /// The message in one sentence.
    package var sentence: String {
      switch occasion {
      case .started: Self.sentence("the relay was started", naming: needs)
      case .configured:
        Self.sentence("what needs somebody is told here from now on", naming: needs)
      case .changed:
        ((began + changed).map(\.sentence) + ended.map { "over: \($0.title)" })
          .joined(separator: "; ") + (needs.isEmpty ? "; nothing needs you" : "")
      }
    }

    private static func sentence(_ beginning: String, naming needs: [Need]) -> String {
      guard !needs.isEmpty else { return beginning }
      let still = needs.count == 1 ? "one thing needs you" : "\(needs.count) things need you"
      let first = needs.prefix(NeedLimits.namedAtStartMax).map(\.title).joined(separator: "; ")
      let more = needs.count - NeedLimits.namedAtStartMax
      return "\(beginning); \(still): \(first)" + (more > 0 ? "; and \(more) more" : "")
    }
  }

  /// The least time between two messages, in milliseconds.
  package static let periodMs: Int64 = 5000

  /// Whether nobody has been told, or could have been, since the relay was started.
  private var isStarting = true
  /// Who was told, and what the list was then; nil if there is nobody to be told.
  private var told: (receiver: Receiver, needs: [Need])?
  private var lastAt: MonotonicTime?

  /// Nothing has been told.
  package init() {}

  /// What is to be told now; nil if there is no news, or nobody to be told, or it is too early.
  ///
  /// - Parameter receiver: Who is told; nil for nobody. What is about its own upstream is left out:
  ///   it could not be told while that lasts, and each message would be one more thing that waits
  ///   for it.
  package mutating func message(
    _ list: [Need], to receiver: Receiver?, at now: MonotonicTime
  ) -> Message? {
    guard let receiver else {
      isStarting = false
      told = nil
      return nil
    }
    if let lastAt, now.milliseconds(since: lastAt) < Self.periodMs { return nil }
    let needs = list.filter { need in
      // Until its end a certificate keeps nobody from being told.
      need.key.upstream != receiver.upstream || need.key.kind == .certificateEnding
    }
    guard let told, told.receiver == receiver else {
      return Message(
        occasion: isStarting ? .started : .configured, began: needs, changed: [], ended: [],
        needs: needs)
    }
    let message = Self.difference(between: told.needs, and: needs)
    let isNews = !message.began.isEmpty || !message.changed.isEmpty || !message.ended.isEmpty
    return isNews ? message : nil
  }

  private static func difference(between told: [Need], and needs: [Need]) -> Message {
    let before = Dictionary(told.map { ($0.key, $0) }) { first, _ in first }
    let keys = Set(needs.map(\.key))
    return Message(
      occasion: .changed, began: needs.filter { before[$0.key] == nil },
      changed: needs.filter { need in before[need.key].map { $0.severity != need.severity } ?? false
      },
      ended: told.filter { !keys.contains($0.key) }, needs: needs)
  }

  /// A message was handed over.
  package mutating func handedOver(_ message: Message, to receiver: Receiver, at now: MonotonicTime)
  {
    isStarting = false
    told = (receiver, message.needs)
    lastAt = now
  }
}
