import EventLoop
import Forwarder
import HTTPServer
import RelayCore

// What the configuration means for the parts that a relay is put together from.

extension LimitsConfiguration {
  /// The fields, and the bytes of them, that a request may have besides an envelope's own.
  ///
  /// Another relay, and proxies, add some to what is handed on: terms, credentials, `Via`. What one
  /// relay has taken, the next one then takes, too.
  private static let wayFieldCount = 32
  private static let wayFieldBytes = 16 * 1024

  /// The HTTP server's limits.
  ///
  /// The server has no limit for bodies: each route has its own, reads no further, and names it
  /// when it refuses.
  var http: HTTPLimits {
    var limits = HTTPLimits()
    limits.requestLineBytesMax = requestLineBytesMax
    limits.fieldCountMax = min(headerCountMax + Self.wayFieldCount, HTTPLimits.fieldCountLargest)
    limits.fieldBytesMax = min(headerBytesMax + Self.wayFieldBytes, HTTPLimits.fieldBytesLargest)
    limits.bodyBytesMax = .max
    limits.connectionsMax = connectionsMax
    limits.connectionsPerPeerMax = connectionsPerPeerMax
    limits.peerSharePercent = shares.sourcePercent
    limits.idleTimeoutMs = Int64(idleTimeoutMs)
    limits.headTimeoutMs = Int64(headTimeoutMs)
    limits.bodyProgressTimeoutMs = Int64(bodyTimeoutMs)
    limits.writeStallTimeoutMs = Int64(stallTimeoutMs)
    limits.handshakeTimeoutMs = Int64(handshakeTimeoutMs)
    limits.handshakesMax = handshakesMax
    limits.bodyTotalTimeoutMs = Int64(bodyTotalTimeoutMs)
    return limits
  }

  /// The most names that the store may know.
  var names: NameLimits {
    var limits = NameLimits()
    limits.clientsMax = clientsMax
    limits.lanesMax = lanesMax
    limits.clientLanesMax = clientLanesMax
    return limits
  }
}

extension Configuration {
  /// A note on the clock in the data folder; nil for a relay that has none.
  func clockFile(_ name: String) -> ClockFile? {
    store.postgres == nil ? ClockFile(path: "\(data)/\(name)") : nil
  }

  /// The clients and upstreams that start paused.
  var startPauses: StartPauses {
    StartPauses(
      upstreams: Set(upstreams.filter(\.startPaused).map(\.name)), clients: clients, lanes: lanes)
  }
}
