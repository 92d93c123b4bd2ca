import RelayCore

/// The configured quotas, laid out for a quick look with each request.
package final class QuotaRules: Sendable {
  /// The limits of what waits of all clients together.
  package let everybody: WaitingQuota
  /// The limit of requests from all of them together; nil for no limit.
  package let everybodyRate: RateLimit?
  private let client: WaitingQuota
  private let limits: LimitsConfiguration
  private let clientRate: RateLimit?
  private let clients: ClientRulesTable

  /// The rules that a configuration sets.
  package init(_ configuration: Configuration) {
    let limits = configuration.limits
    self.limits = limits
    clients = configuration.clients
    everybody = WaitingQuota(
      envelopesMax: limits.waitingEnvelopesMax, bytesMax: limits.waitingBytesMax)
    everybodyRate = limits.requestsPerSecondMax.map {
      RateLimit(perSecond: $0, burst: limits.requestBurst)
    }
    client = WaitingQuota(
      envelopesMax: limits.clientWaitingEnvelopesMax, bytesMax: limits.clientWaitingBytesMax)
    clientRate = QuotaSettings().rate(
      orPerSecond: limits.clientRequestsPerSecondMax, burst: limits.clientRequestBurst)
  }

  /// Returns the limits of what waits of a client.
  package func waiting(of name: String) -> WaitingQuota {
    guard !clients.isEmpty, let settings = clients[name]?.quota else { return client }
    return settings.waiting(or: client)
  }

  /// Returns the limit of a client's requests; nil for no limit.
  package func rate(of name: String) -> RateLimit? {
    guard !clients.isEmpty, let settings = clients[name]?.quota else { return clientRate }
    return settings.rate(
      orPerSecond: limits.clientRequestsPerSecondMax, burst: limits.clientRequestBurst)
  }
}
