import EventLoop
import RelayCore

extension Connection {
  /// Tells whoever counts them of an answer.
  ///
  /// - Parameter begin: When its request was there; nil where nobody was asked for the answer.
  func tell(_ status: Int, since begin: MonotonicTime?) {
    guard let observe = server.observeAnswer else { return }
    observe(
      AnsweredRequest(
        listener: origin.listener, status: status,
        durationUs: begin.map(Self.microseconds)))
  }

  /// Tells whoever keeps an access log of a request that is over.
  ///
  /// - Parameters:
  ///   - status: What was answered; nil where the peer had gone before.
  ///   - begin: When its request was there; nil where nobody was asked for the answer.
  @inline(never)
  func tellOfEnd(
    _ head: RequestHead?, _ status: Int?, isWhole: Bool = false, since begin: MonotonicTime? = nil,
    problem: ProtocolProblem.Kind? = nil, note: (any ExchangeNote)? = nil
  ) {
    guard let observer = server.exchanges, observer.isOn else { return }
    observer.ended(
      Exchange(
        origin: origin, tlsVersion: tlsVersion, head: head, problem: problem, status: status,
        isWhole: isWhole, receivedBytes: traffic.received, sentBytes: traffic.sent,
        durationUs: begin.map(Self.microseconds), note: note))
  }

  private static func microseconds(since begin: MonotonicTime) -> Int64 {
    (MonotonicClock.now().nanoseconds - begin.nanoseconds) / 1000
  }

  private var samplesNext: Bool { server.observeDelay != nil && context.isSampleDue() }

  /// Waits for bytes of a request, and tells of some how long they had lain there, for want of a
  /// turn on the loop.
  ///
  /// What came before this connection began to wait for it, as pipelined requests do, has waited
  /// for other things than the loop.
  func fillTimed(until deadline: MonotonicTime) async {
    let restedSince = self.restedSince
    self.restedSince = nil
    guard samplesNext else { return await fill(until: deadline) }
    let begin = restedSince ?? MonotonicClock.now()
    await fill(until: deadline)
    guard !state.input.isEmpty, let delayMs = socket.msSinceData else { return }
    server.observeDelay?(min(delayMs, MonotonicClock.now().milliseconds(since: begin)))
  }
}
