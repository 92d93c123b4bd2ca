// A message of what needs somebody that was refused: while that lasts, nobody is told of anything.
extension NeedRules {
  static func untold(_ facts: NeedFacts) -> [Need] {
    guard let news = facts.refusedNews else { return [] }
    let last = news.last
    let words = last.example?.words.map { " “\($0)”" } ?? ""
    let why = last.status.map { "\(news.upstream) answered \($0)\(words)" } ?? last.reason
    let isPlain = last.status.map { last.reason == "the upstream answered \($0)" } ?? true
    return [
      Need(
        key: Need.Key(.notifyRefused, upstream: news.upstream), severity: .critical,
        since: last.since, title: "nobody is told what needs somebody: \(why)",
        cause: isPlain ? nil : last.reason, status: last.status, count: Int64(news.count),
        example: last.example, acts: (last.example.map { [.show($0.id)] } ?? []) + acts(on: news))
    ]
  }

  private static func acts(on news: NeedFacts.RefusedNews) -> [NeedAct] {
    let isBlocked = news.last.left == .blocked
    var messages = EnvelopeSelection(
      client: RefusedNews.lane.client, lane: RefusedNews.lane.lane,
      states: [isBlocked ? .blocked : .failed])
    guard !isBlocked else { return [.operate(.retry, messages), .operate(.discard, messages)] }
    // What a person has given up is not sent after all.
    messages.isDiscarded = false
    messages.ended.since = news.last.since
    return [.operate(.requeue, messages)]
  }
}
