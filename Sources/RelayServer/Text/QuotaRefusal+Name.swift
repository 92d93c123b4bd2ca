import RelayCore

extension QuotaRefusal {
  /// All that ``limitName`` may be.
  static let limitNames = [
    "clientWaitingEnvelopes", "waitingEnvelopes", "clientWaitingBytes", "waitingBytes",
    "clientRequestsPerSecond", "requestsPerSecond", "clients", "clientLanes", "lanes",
  ]

  /// The limit's name in problems and metrics.
  var limitName: String {
    switch (limit, isOfClient) {
    case (.waitingEnvelopes, true): "clientWaitingEnvelopes"
    case (.waitingEnvelopes, false): "waitingEnvelopes"
    case (.waitingBytes, true): "clientWaitingBytes"
    case (.waitingBytes, false): "waitingBytes"
    case (.requests, true): "clientRequestsPerSecond"
    case (.requests, false): "requestsPerSecond"
    case (.clients, _): "clients"
    case (.lanes, true): "clientLanes"
    case (.lanes, false): "lanes"
    }
  }
}
