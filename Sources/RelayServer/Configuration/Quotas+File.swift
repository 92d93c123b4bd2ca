import JSON
import RelayCore

// Quotas: of all senders together, of each client, and of clients whose names fit a pattern.

/// The bounds of what can be set.
private enum QuotaBounds {
  static let perSecond = 0.001...1_000_000
  static let burst = 1...1_000_000
}

extension LimitsConfiguration {
  mutating func readQuotas(_ section: inout SectionReader) {
    let counts = 1...Self.countLargest
    let bytes = 1...Self.bytesLargest
    section.integer("waitingEnvelopesMax", into: &waitingEnvelopesMax, counts)
    section.optionalInteger("waitingBytesMax", into: &waitingBytesMax, bytes)
    section.optionalInteger("clientWaitingEnvelopesMax", into: &clientWaitingEnvelopesMax, counts)
    section.optionalInteger("clientWaitingBytesMax", into: &clientWaitingBytesMax, bytes)
    section.integer("clientsMax", into: &clientsMax, counts)
    section.integer("lanesMax", into: &lanesMax, counts)
    section.integer("clientLanesMax", into: &clientLanesMax, counts)
    section.optionalNumber(
      "requestsPerSecondMax", into: &requestsPerSecondMax, QuotaBounds.perSecond)
    section.optionalInteger("requestBurst", into: &requestBurst, QuotaBounds.burst)
    section.optionalNumber(
      "clientRequestsPerSecondMax", into: &clientRequestsPerSecondMax, QuotaBounds.perSecond)
    section.optionalInteger("clientRequestBurst", into: &clientRequestBurst, QuotaBounds.burst)
  }

  func writeQuotas(to json: inout JSONWriter) {
    json.member("waitingEnvelopesMax", waitingEnvelopesMax)
    json.member("waitingBytesMax") { $0.integerOrNull(waitingBytesMax) }
    json.member("clientWaitingEnvelopesMax") { $0.integerOrNull(clientWaitingEnvelopesMax) }
    json.member("clientWaitingBytesMax") { $0.integerOrNull(clientWaitingBytesMax) }
    json.member("clientsMax", clientsMax)
    json.member("lanesMax", lanesMax)
    json.member("clientLanesMax", clientLanesMax)
    json.memberOrNull("requestsPerSecondMax", requestsPerSecondMax)
    json.member("requestBurst") { $0.integerOrNull(requestBurst) }
    json.memberOrNull("clientRequestsPerSecondMax", clientRequestsPerSecondMax)
    json.member("clientRequestBurst") { $0.integerOrNull(clientRequestBurst) }
  }
}

extension QuotaSettings {
  mutating func read(_ section: inout SectionReader) {
    section.setting("waitingEnvelopesMax", into: &waitingEnvelopesMax) {
      $0.optionalInteger($1, into: &$2, 1...LimitsConfiguration.countLargest)
    }
    section.setting("waitingBytesMax", into: &waitingBytesMax) {
      $0.optionalInteger($1, into: &$2, 1...LimitsConfiguration.bytesLargest)
    }
    section.setting("requestsPerSecondMax", into: &requestsPerSecondMax) {
      $0.optionalNumber($1, into: &$2, QuotaBounds.perSecond)
    }
    section.setting("requestBurst", into: &requestBurst) {
      $0.optionalInteger($1, into: &$2, QuotaBounds.burst)
    }
  }

  /// Writes what is set, and leaves out what is inherited.
  func writeMembers(to json: inout JSONWriter) {
    if case .of(let value) = waitingEnvelopesMax {
      json.member("waitingEnvelopesMax") { $0.integerOrNull(value) }
    }
    if case .of(let value) = waitingBytesMax {
      json.member("waitingBytesMax") { $0.integerOrNull(value) }
    }
    if case .of(let value) = requestsPerSecondMax {
      json.memberOrNull("requestsPerSecondMax", value)
    }
    if case .of(let value) = requestBurst {
      json.member("requestBurst") { $0.integerOrNull(value) }
    }
  }
}

extension SectionReader {
  /// A number in `range`, or `null` for none.
  fileprivate mutating func optionalNumber(
    _ key: String, into target: inout Double?, _ range: ClosedRange<Double>
  ) {
    let expected = "a number from \(range.lowerBound) to \(range.upperBound), or null"
    read(key, into: &target, expected: expected) { value -> Double?? in
      if value.isNull { return .some(nil) }
      return (try? value.double()).flatMap { range.contains($0) ? .some($0) : nil }
    }
  }

  /// A value, or `null` for no limit; where the key is absent, what counts for all clients stays.
  fileprivate mutating func setting<Value: Hashable & Sendable>(
    _ key: String, into target: inout QuotaSetting<Value>,
    _ read: (inout SectionReader, String, inout Value?) -> Void
  ) {
    var value: Value?
    read(&self, key, &value)
    if all.contains(where: { $0.name == key }) { target = .of(value) }
  }
}

extension JSONWriter {
  fileprivate mutating func memberOrNull(_ name: String, _ value: Double?) {
    if let value { member(name, value) } else { member(name) { $0.null() } }
  }
}
