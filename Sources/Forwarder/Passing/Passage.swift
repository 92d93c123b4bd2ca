import RelayCore
import Synchronization

/// A request on its way to another relay, and the answer on its way back.
///
/// One task hands over the body, one takes the answer; the link's thread moves the bytes.
package final class Passage: Sendable {
  /// Tells the link's thread of something.
  enum Word: Sendable {
    /// What stood still goes on.
    case goOn
    /// Nobody wants the answer any more.
    case breakOff
  }

  private typealias Waiter = UnsafeContinuation<Void, Never>

  private struct Shared {
    var state = PassageState()
    var bodyWaiter: Waiter?
    var headWaiter: Waiter?
    var answerWaiter: Waiter?

    /// Those whose wait is over.
    mutating func released() -> [Waiter] {
      var waiters: [Waiter?] = []
      let hasEnded = state.end != nil
      if state.wantsBody || state.head != nil || hasEnded { waiters.append(bodyWaiter.take()) }
      if state.head != nil || hasEnded { waiters.append(headWaiter.take()) }
      if state.hasNextOfAnswer { waiters.append(answerWaiter.take()) }
      return waiters.compactMap { $0 }
    }
  }

  /// The request.
  let request: PassedRequest
  /// The relay that it goes to.
  let target: UpstreamTarget
  private let shared = Mutex(Shared())
  private let say: @Sendable (Word, Passage) -> Void

  init(
    _ request: PassedRequest, to target: UpstreamTarget,
    say: @escaping @Sendable (Word, Passage) -> Void
  ) {
    self.request = request
    self.target = target
    self.say = say
  }

  /// Changes the state, and wakes whoever waits for what has come of it.
  func update<Value>(_ change: (inout PassageState) -> Value) -> Value {
    let (value, waiters) = shared.withLock { shared in
      let value = change(&shared.state)
      return (value, shared.released())
    }
    for waiter in waiters { waiter.resume() }
    return value
  }

  // MARK: - The sender's side

  /// Waits until the next piece of the body is wanted; false if no more is wanted at all.
  package func wantsBody() async -> Bool {
    await wait(\.bodyWaiter)
    return shared.withLock { $0.state.wantsBody }
  }

  /// Hands over a piece of the body; nil at its end.
  package func send(_ piece: [UInt8]?) {
    if update({ $0.take(body: piece) }) { say(.goOn, self) }
  }

  /// Whether pieces of the body have not come yet.
  package var lacksBody: Bool {
    guard case .pieces = request.body else { return false }
    return shared.withLock { !$0.state.isBodyWhole }
  }

  /// Whether the other relay was reached, so that the body was begun.
  package var hasBegun: Bool { shared.withLock { $0.state.isTaken } }

  /// Waits for the beginning of the answer.
  ///
  /// - Throws: ``PassingFailure`` if there is none.
  package func head() async throws(PassingFailure) -> PassedAnswer {
    await wait(\.headWaiter)
    let (head, end) = shared.withLock { ($0.state.head, $0.state.end) }
    if let head { return head }
    if case .failure(let failure) = end { throw failure }
    throw PassingFailure(reason: "it has ended the connection without an answer", isWritten: true)
  }

  /// Waits for the next piece of the answer's body; nil at its end.
  ///
  /// - Throws: ``PassingFailure`` if the rest does not come.
  package func next() async throws(PassingFailure) -> [UInt8]? {
    await wait(\.answerWaiter)
    let (next, end) = shared.withLock { ($0.state.nextOfAnswer(), $0.state.end) }
    if next.goesOn { say(.goOn, self) }
    if let piece = next.piece { return piece }
    if case .failure(let failure) = end { throw failure }
    return nil
  }

  /// All of the answer's body, if it is here; nil if it has to be waited for.
  package func takeWholeAnswer() -> [UInt8]? {
    shared.withLock { $0.state.takeWholeAnswer() }
  }

  /// Gives it up: nobody wants the answer any more.
  package func breakOff() {
    let isOver = update { state in
      defer { state.finish(.failure(.brokenOff)) }
      return state.end != nil
    }
    if !isOver { say(.breakOff, self) }
  }

  private func wait(_ place: WritableKeyPath<Shared, Waiter?>) async {
    await withUnsafeContinuation { continuation in
      let waiters = shared.withLock { shared in
        precondition(shared[keyPath: place] == nil, "one task waits for one thing")
        shared[keyPath: place] = continuation
        return shared.released()
      }
      for waiter in waiters { waiter.resume() }
    }
  }
}

extension PassingFailure {
  /// It was given up on this side.
  static let brokenOff = PassingFailure(reason: "it was broken off here", isWritten: true)
}
