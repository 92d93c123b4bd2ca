import EventLoop
import RelayCore

extension ServerConnection {
  /// Reports a response to those who count them.
  ///
  /// - Parameter begin: The time when its request was read; nil if no handler was asked.
  func tell(_ status: Int, since begin: MonotonicTime?) {
    guard let observe = server.observeAnswer else { return }
    observe(
      AnsweredRequest(
        listener: origin.listener, status: status,
        durationUs: begin.map(Self.microseconds)))
  }

  /// Reports a finished request to the access log.
  ///
  /// - Parameters:
  ///   - status: The status of the response; nil if the peer had gone before.
  ///   - begin: The time when its request was read; nil if no handler was asked.
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

  /// Waits for bytes of a request, and reports for some of them how long they lay unread for want
  /// of a turn on the loop.
  ///
  /// Bytes that came before this connection began to wait for them, such as pipelined requests, did
  /// not wait for the loop.
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
