import Testing

// The long forms of tests, asked for by variables (`make power-cuts`, `make disk-errors`). They
// stand beside `EndToEnd`, whose limit of time would hold for them as well: of several the shortest
// counts.

/// As many disks as were asked for, each as a power cut may leave it.
@Suite(
  "Power cuts, at length", .serialized, .timeLimit(.minutes(240)),
  .enabled(if: EndToEnd.PowerCuts.wanted != nil, "make power-cuts"))
struct LongPowerCuts {
  @Test("whatever a power cut leaves on the disk, what was told still holds")
  func anyMoment() async throws { try await EndToEnd.PowerCuts().anyMoment() }
}

/// Every system call of a short workload.
@Suite(
  "Disk errors, at length", .serialized, .timeLimit(.minutes(60)),
  .enabled(if: EndToEnd.DiskErrors.isLong, "make disk-errors"))
struct LongDiskErrors {
  @Test("each call that fails in turn loses nothing acknowledged, and the relay recovers or ends")
  func everyCall() async throws { try await EndToEnd.DiskErrors().everyCall() }

  @Test("a relay that meets an error while it starts says so and ends, or serves")
  func starting() async throws { try await EndToEnd.DiskErrors().starting() }
}
