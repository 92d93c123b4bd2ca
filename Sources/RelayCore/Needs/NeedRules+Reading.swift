// A store that cannot be read.
extension NeedRules {
  /// While it cannot write either, that says enough: the cause is the same one.
  static func unreadable(_ facts: NeedFacts) -> [Need] {
    guard let trouble = facts.readTrouble, facts.storeTrouble == nil else { return [] }
    return [
      Need(
        key: Need.Key(.readsFailing), severity: .critical, since: facts.now,
        title: "the store cannot be read: lists are answered 503, and envelopes may wait",
        cause: trouble, count: 1,
        acts: facts.configurationPath.map { [.tryStore(path: $0)] } ?? [])
    ]
  }
}
