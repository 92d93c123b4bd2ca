import EventLoop
import RelayCore
import Synchronization

/// The parts that all connections of a server share.
final class ServerContext: Sendable {
  private let limitsInForce: Mutex<HTTPLimits>
  let handler: any RequestHandler
  let problem: @Sendable (ProtocolProblem) -> HTTPResponse
  let handshakes: Handshakes
  let handshakeFailed: @Sendable (FailedHandshake) -> Void
  /// Called with the delays of sampled requests, in milliseconds; nil for nobody.
  let observeDelay: (@Sendable (Int64) -> Void)?
  /// Called with each response; nil for nobody.
  let observeAnswer: (@Sendable (AnsweredRequest) -> Void)?
  /// The keeper of an access log; nil for none.
  let exchanges: (any ExchangeObserver)?
  /// The connections that hold a head larger than a read buffer.
  let largeHeads = Mutex(SharedPlaces())
  /// Whether connections end with the request that they have in flight.
  let isDraining = Atomic<Bool>(false)

  init(
    limits: HTTPLimits, handler: any RequestHandler,
    problem: @escaping @Sendable (ProtocolProblem) -> HTTPResponse,
    handshakeFailed: @escaping @Sendable (FailedHandshake) -> Void,
    observeDelay: (@Sendable (Int64) -> Void)?,
    observeAnswer: (@Sendable (AnsweredRequest) -> Void)?, exchanges: (any ExchangeObserver)?
  ) {
    limitsInForce = Mutex(limits)
    self.exchanges = exchanges
    self.observeAnswer = observeAnswer
    self.observeDelay = observeDelay
    self.handler = handler
    self.problem = problem
    self.handshakeFailed = handshakeFailed
    handshakes = Handshakes(limits.places(of: limits.handshakesMax))
  }

  /// The limits for connections that begin now; each keeps those it began with.
  var limits: HTTPLimits { limitsInForce.withLock { $0 } }

  /// Changes the limits for new connections.
  func setLimits(_ limits: HTTPLimits) {
    limitsInForce.withLock { $0 = limits }
    handshakes.setLimits(limits.places(of: limits.handshakesMax))
  }
}

/// The parts that the connections of one event loop share: workers, read buffers and the `Date`
/// line.
final class LoopContext: Sendable {
  /// The number of unused read buffers that a loop keeps: as many as requests are commonly in
  /// flight at once, since making one means clearing it.
  static let spareBuffersMax = 256

  private struct DateLine {
    var bytes: [UInt8] = []
    var validUntil = MonotonicTime(nanoseconds: 0)
  }

  let loop: EventLoop
  let workers: Workers
  let connectionCount = Atomic<Int>(0)
  private let readCount = Atomic<Int>(0)
  private let bufferBytes: Int
  private let spareBuffers = Mutex<[[UInt8]]>([])
  private let dateLine = Mutex(DateLine())

  init(loop: EventLoop, bufferBytes: Int) {
    self.loop = loop
    workers = Workers(on: loop)
    self.bufferBytes = bufferBytes
  }

  /// The number of requests of which one is sampled for how long it waited to be read.
  static let readsPerSample = 16

  /// Whether the next request is sampled.
  func isSampleDue() -> Bool {
    readCount.wrappingAdd(1, ordering: .relaxed).newValue % Self.readsPerSample == 0
  }

  func takeBuffer() -> [UInt8] {
    let spare = spareBuffers.withLock { $0.popLast() }
    return spare ?? [UInt8](repeating: 0, count: bufferBytes)
  }

  /// Takes a buffer back; one that a large head has made grow is freed.
  func giveBack(_ buffer: [UInt8]) {
    guard buffer.count == bufferBytes else { return }
    spareBuffers.withLock { spares in
      if spares.count < Self.spareBuffersMax { spares.append(buffer) }
    }
  }

  /// Appends `Date: …` and a line end; the line is made anew once a second.
  func appendDate(to head: inout [UInt8]) {
    let now = loop.now
    dateLine.withLock { line in
      if now >= line.validUntil {
        let wall = WallClock.now()
        line.bytes = Array("Date: \(HTTPDate.format(wall))\r\n".utf8)
        let leftMs = 1000 - wall.millisecondsSinceEpoch % 1000
        line.validUntil = now.adding(milliseconds: leftMs)
      }
      head.append(contentsOf: line.bytes)
    }
  }
}
