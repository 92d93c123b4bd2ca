import EventLoop
import RelayCore

/// Whether the relay to which requests are passed on can still be heard.
///
/// A link may swallow everything without ending a connection: whoever waits for an answer would
/// wait until the sender gives up. So a relay that has been silent for a while is asked something
/// that is answered at once. A value: the times are handed in.
struct LinkWatch {
  /// How long the relay may be silent while an answer is awaited, in milliseconds.
  static let silenceMs: Int64 = 3_000
  /// How long the answer to a question may take, in milliseconds: a busy relay answers late.
  static let answerMs: Int64 = 5_000

  /// What is to be done now.
  enum Step: Equatable {
    /// Nothing, for some milliseconds; nil for as long as nothing is awaited.
    case wait(milliseconds: Int64?)
    /// To ask the relay something.
    case ask
    /// To give up what is under way: the relay cannot be heard.
    case giveUp
  }

  /// When the relay was heard last, or an answer has been awaited since; nil while none is.
  private var heardAt: MonotonicTime?
  private var askedAt: MonotonicTime?

  /// An answer is awaited.
  mutating func expect(at now: MonotonicTime) { heardAt = heardAt ?? now }

  /// Something of the relay has come.
  mutating func hear(at now: MonotonicTime) {
    guard heardAt != nil else { return }
    (heardAt, askedAt) = (now, nil)
  }

  /// Nothing is awaited any more.
  mutating func rest() { self = LinkWatch() }

  /// Says what is to be done now; a question is noted as asked.
  mutating func step(at now: MonotonicTime) -> Step {
    guard let heardAt else { return .wait(milliseconds: nil) }
    let (since, limitMs) = askedAt.map { ($0, Self.answerMs) } ?? (heardAt, Self.silenceMs)
    let leftMs = limitMs - now.milliseconds(since: since)
    guard leftMs <= 0 else { return .wait(milliseconds: leftMs) }
    guard askedAt == nil else {
      rest()
      return .giveUp
    }
    askedAt = now
    return .ask
  }
}
