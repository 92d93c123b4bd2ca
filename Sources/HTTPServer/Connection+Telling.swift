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
}
