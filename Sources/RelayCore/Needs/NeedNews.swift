/// What somebody has been told of the list of needs, and is to be told next.
///
/// A pure value. What could not be handed over is part of the next news, so nothing is lost or told
/// out of order.
package struct NeedNews: Sendable {
  /// A message: what has changed since the one before, and the whole list.
  package struct Message: Sendable, Equatable {
    /// Whether it is the first one since the relay was started.
    package var isFirst: Bool
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
      let still = needs.count == 1 ? "one thing needs you" : "\(needs.count) things need you"
      if isFirst {
        guard !needs.isEmpty else { return "the relay was started" }
        let first = needs.prefix(NeedLimits.namedAtStartMax).map(\.title).joined(separator: "; ")
        let more = needs.count - NeedLimits.namedAtStartMax
        return "the relay was started; \(still): \(first)" + (more > 0 ? "; and \(more) more" : "")
      }
      let news = (began + changed).map(\.sentence) + ended.map { "over: \($0.title)" }
      return news.joined(separator: "; ") + (needs.isEmpty ? "; nothing needs you" : "")
    }
  }

  /// What the list was when it was told; nil if nothing has been told since the start.
  private var told: [Need]?

  /// Nothing has been told.
  package init() {}

  /// What is to be told now; nil if there is no news.
  ///
  /// - Parameter upstream: The upstream that is told. What is about itself is left out: it could
  ///   not be told while that lasts, and each message would be one more thing that waits for it.
  package func message(_ list: [Need], to upstream: String) -> Message? {
    let needs = list.filter { $0.key.upstream != upstream }
    guard let told else {
      return Message(isFirst: true, began: needs, changed: [], ended: [], needs: needs)
    }
    let before = Dictionary(told.map { ($0.key, $0) }) { first, _ in first }
    let keys = Set(needs.map(\.key))
    let message = Message(
      isFirst: false, began: needs.filter { before[$0.key] == nil },
      changed: needs.filter { need in before[need.key].map { $0.severity != need.severity } ?? false
      },
      ended: told.filter { !keys.contains($0.key) }, needs: needs)
    let isNews = !message.began.isEmpty || !message.changed.isEmpty || !message.ended.isEmpty
    return isNews ? message : nil
  }

  /// A message was handed over.
  package mutating func handedOver(_ message: Message) { told = message.needs }
}
