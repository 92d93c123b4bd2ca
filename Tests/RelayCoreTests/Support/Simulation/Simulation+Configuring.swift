@testable import RelayCore

// Somebody takes an upstream out of the configuration of the running relay, and puts it back.
extension Simulation {
  mutating func changeConfiguration() {
    guard !isFaultFree else { return }
    var policies = Self.policies
    var stayMs = Int64.random(in: 2000...20_000, using: &random)
    if scheduler.upstreams.values.allSatisfy(\.isConfigured) {
      if let taken = Self.upstreamNumbers.randomElement(using: &random) { policies[taken] = nil }
      stayMs /= 10
    }
    configure(policies)
    configurationCount += 1
    schedule(.configurationChanges, inMs: stayMs)
  }

  mutating func configure(_ policies: [UpstreamNumber: UpstreamPolicy]) {
    scheduler.configure(upstreams: policies, now: clock)
    runs.lookAtAll(in: &scheduler, now: clock)
  }
}
