import RelayCore

/// What one request between relays carries: a sender's request, or several.
///
/// The link's thread asks and tells it.
protocol PassingCargo: AnyObject {
  /// The relay that it goes to.
  var target: UpstreamTarget { get }
  /// The request as it is sent.
  var request: PassedRequest { get }
  /// A sender's request of those that it carries.
  var sample: PassedRequest { get }
  /// Whether nobody waits for more of the answer.
  var isOver: Bool { get }

  /// Hands out what comes next of the body; the other relay is reached.
  func send(into buffer: UnsafeMutableRawBufferPointer) -> PassageState.Sending
  /// Takes the beginning of the answer; false if nothing more is to come.
  func take(_ head: PassedAnswer) -> Bool
  /// Takes a piece of the answer's body; false if it has to be offered again later.
  func take(answer piece: [UInt8]) -> Bool
  /// Notes what came of it.
  func finish(_ result: Result<Void, PassingFailure>)
}

extension Passage: PassingCargo {
  var sample: PassedRequest { request }
  var isOver: Bool { update { $0.end != nil } }

  func send(into buffer: UnsafeMutableRawBufferPointer) -> PassageState.Sending {
    update { $0.send(into: buffer) }
  }

  func take(_ head: PassedAnswer) -> Bool { update { $0.take(head) } }

  func take(answer piece: [UInt8]) -> Bool { update { $0.take(answer: piece) } }

  func finish(_ result: Result<Void, PassingFailure>) { update { $0.finish(result) } }
}

/// Several senders' requests that go together.
final class BundleCargo: PassingCargo {
  /// The longest answer in bytes; those of posts are short.
  private static let answerBytesMax = 16 << 20
  /// What a relay answers that knows of no bundles.
  private static let unknown: Set<Int> = [404, 405]

  /// The requests, in their order.
  let passages: [Passage]
  let target: UpstreamTarget
  let request: PassedRequest
  var sample: PassedRequest { passages[0].request }
  /// All of the answer is wanted, since the connection is kept.
  var isOver: Bool { false }
  /// What the other relay says of them together, and of none by itself: it has begun none.
  enum Refusal {
    /// It knows of no bundles.
    case unknown
    /// It cannot read them all.
    case unreadable
  }

  /// Why each has to go by itself; nil if they have their answers, or have failed.
  private(set) var refusal: Refusal?

  private var head: PassedAnswer?
  private var answer: [UInt8] = []

  /// Puts requests together to the same relay, whose bodies are here.
  init(_ passages: [Passage]) {
    self.passages = passages
    target = passages[0].target
    var fields = HeaderBlock()
    fields.append(name: "Host", value: target.hostField)
    fields.append(name: "Content-Type", value: PassedBundle.mediaType)
    request = PassedRequest(
      method: "POST", target: Array(PassedBundle.target.utf8), fields: fields,
      body: .whole(PassedBundle.body(of: passages.lazy.map(\.request))))
  }

  /// Its body is given to libcurl as a whole.
  func send(into buffer: UnsafeMutableRawBufferPointer) -> PassageState.Sending { .bytes(0) }

  func take(_ head: PassedAnswer) -> Bool {
    self.head = head
    answer.reserveCapacity(Int(min(head.contentLength ?? 0, Int64(Self.answerBytesMax))))
    return true
  }

  func take(answer piece: [UInt8]) -> Bool {
    // What is left out is missed when the answers are read.
    if answer.count + piece.count <= Self.answerBytesMax { answer += piece }
    return true
  }

  func finish(_ result: Result<Void, PassingFailure>) {
    guard case .success = result, let head else {
      let failure = result.failure ?? .lacking
      for passage in passages { passage.finish(.failure(failure)) }
      return
    }
    if head.status == 200 {
      deliver(PassedBundle.answers(in: answer))
    } else if (400..<500).contains(head.status) {
      refusal = Self.unknown.contains(head.status) ? .unknown : .unreadable
    } else {
      // As each would have been answered: the other relay has not the store, or is about to end.
      deliver(passages.map { _ in PassedBundle.Answer(head: head, body: answer) })
    }
  }

  private func deliver(_ answers: [PassedBundle.Answer]) {
    for (passage, answer) in zip(passages, answers) {
      passage.update { state in
        _ = state.take(answer.head)
        if !answer.body.isEmpty { _ = state.take(answer: answer.body) }
        state.finish(.success(()))
      }
    }
    for passage in passages.dropFirst(answers.count) { passage.finish(.failure(.lacking)) }
  }
}

extension Result {
  fileprivate var failure: Failure? {
    if case .failure(let failure) = self { failure } else { nil }
  }
}

extension PassingFailure {
  /// The other relay has taken it, and not answered.
  fileprivate static let lacking = PassingFailure(
    reason: "it has not answered all requests that were passed on together", isWritten: true)
}
