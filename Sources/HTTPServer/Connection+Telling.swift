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
        durationUs: begin.map { (MonotonicClock.now().nanoseconds - $0.nanoseconds) / 1000 }))
  }
}
