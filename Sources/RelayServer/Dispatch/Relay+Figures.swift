import EventLoop
import HTTPServer
import RelayCore
import Synchronization

// What the parts that face the senders have counted by themselves.
extension Relay {
  /// How many connections are open.
  package var connectionCount: Int { front.withLock { $0?.server.connectionCount ?? 0 } }

  /// The connections of each listener that ever had one, by the listeners' numbers.
  var connectionFigures: [Int: ListenerFigures] {
    front.withLock { $0?.server }?.figures ?? [:]
  }

  /// How many event loops serve connections.
  var loopCount: Int { front.withLock { $0?.loops.count ?? 0 } }

  /// How long the rounds of all event loops took.
  var loopLag: Histogram {
    var lag = Histogram(.loopMicroseconds)
    for loop in front.withLock({ $0?.loops ?? [] }) { lag.merge(loop.lag) }
    return lag
  }
}
