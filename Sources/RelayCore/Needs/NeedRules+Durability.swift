// A database that keeps what is acknowledged on fewer disks than it is to.
extension NeedRules {
  static func undurable(_ facts: NeedFacts) -> [Need] {
    guard let doubt = facts.durabilityDoubt else { return [] }
    let wanted = "store.postgres.durability wants"
    let title =
      doubt.isCertain
      ? "what is acknowledged is less safe than \(wanted), and /readyz says no"
      : "it cannot be told whether what is acknowledged is as safe as \(wanted)"
    return [
      Need(
        key: Need.Key(.durabilityLow), severity: doubt.isCertain ? .critical : .warning,
        since: facts.now, title: title, cause: doubt.sentence, count: 1,
        acts: facts.configurationPath.map { [.tryStore(path: $0)] } ?? [])
    ]
  }
}
