import RelayCore
import Synchronization

extension NeedGathering {
  /// Adds the messages of needs that were not taken.
  ///
  /// A lane of messages that stands is looked up, since it may have stood before the relay was
  /// started. Dead letters count while the upstream that refused them is the one that is told.
  func addRefusedNews(
    to facts: inout NeedFacts, _ keeper: NeedsKeeper, _ examples: inout NeedExamples
  ) async {
    let notify = relay.inForce.withLock { $0.settings.configuration.notify }
    guard let upstream = notify.upstream else { return }
    let news = keeper.refusedNews
    if let head = news.laneNumber.flatMap(relay.dispatcher.blockedHead(of:)) {
      facts.refusedNews = await blocked(head, facts.now, &examples)
    } else if let letters = news.deadLetters, letters.upstream == relay.upstreamNumber(upstream) {
      let last = NeedFacts.Failure(
        status: letters.status, reason: letters.reason, left: .failed, since: letters.since,
        example: await examples.example(
          letters.serial, at: letters.at, status: letters.status, from: store)?.example)
      facts.refusedNews = NeedFacts.RefusedNews(
        upstream: upstream, count: letters.count, last: last)
    }
  }

  private func blocked(
    _ head: LineEntry, _ now: WallTime, _ examples: inout NeedExamples
  ) async -> NeedFacts.RefusedNews? {
    guard let store, let id = try? await store.ids(of: [head.serial])[head.serial],
      let summary = try? await store.summaries(of: [id]).first
    else { return nil }
    let status = summary.fate.responseStatus
    let example = await examples.example(head.serial, status: status, from: store)
    let last = NeedFacts.Failure(
      status: status, reason: summary.fate.reason ?? "it was refused",
      left: .blocked, since: example?.since ?? now, example: example?.example)
    return NeedFacts.RefusedNews(upstream: summary.terms.upstream, count: 1, last: last)
  }
}
