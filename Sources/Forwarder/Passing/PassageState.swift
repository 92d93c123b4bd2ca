import RelayCore

/// How far a request has come that is passed on: what waits to be sent of its body, and what has
/// come of the answer.
///
/// A value: whoever holds it moves the bytes. Both directions hold back when too much waits here,
/// so a slow end slows the other one down, and the memory does not grow with the bodies.
package struct PassageState {
  /// The most bytes that wait here in one direction before more is held back.
  package static let waitingBytesMax = 256 << 10

  private var outgoing = Deque<[UInt8]>()
  private var outgoingBytes = 0
  /// How many bytes of the first piece were sent.
  private var sentOfFirst = 0
  /// Whether all of the body was handed over, or is none.
  private(set) var isBodyWhole = false
  private var incoming = Deque<[UInt8]>()
  private var incomingBytes = 0
  /// The bytes of the answer's body that have come.
  private var answerBytes: Int64 = 0

  /// Whether the other relay is reached, and takes the body.
  package private(set) var isTaken = false
  /// Whether the sending stands still, since the next piece is not here.
  package private(set) var isSendingHeld = false
  /// Whether the answer stands still, since nobody has taken what is here.
  package private(set) var isAnswerHeld = false
  /// The beginning of the answer.
  package private(set) var head: PassedAnswer?
  /// What came of it; nil while it goes on.
  package private(set) var end: Result<Void, PassingFailure>?

  /// Begins.
  package init() {}

  // MARK: - The body

  /// What there is to send now.
  package enum Sending: Equatable {
    /// As many bytes as this; 0 at the end.
    case bytes(Int)
    /// Nothing, until the next piece is here.
    case notYet
  }

  /// Whether the next piece of the body is wanted now.
  ///
  /// Nothing is wanted before the other relay is reached, so that the request can still be handed
  /// to another one; and nothing once it answers, since it wants no more then.
  package var wantsBody: Bool {
    isTaken && !isBodyWhole && head == nil && end == nil && outgoingBytes < Self.waitingBytesMax
  }

  /// Takes a piece of the body; nil at its end.
  ///
  /// - Returns: Whether the sending goes on now.
  package mutating func take(body piece: [UInt8]?) -> Bool {
    if let piece {
      guard !piece.isEmpty else { return false }
      outgoing.append(piece)
      outgoingBytes += piece.count
    } else {
      isBodyWhole = true
    }
    defer { isSendingHeld = false }
    return isSendingHeld
  }

  /// The other relay is reached, and what comes next of the body is handed out.
  package mutating func send(into buffer: UnsafeMutableRawBufferPointer) -> Sending {
    isTaken = true
    guard let first = outgoing.first else {
      isSendingHeld = !isBodyWhole
      return isBodyWhole ? .bytes(0) : .notYet
    }
    let count = min(buffer.count, first.count - sentOfFirst)
    first.withUnsafeBytes {
      buffer.copyMemory(
        from: UnsafeRawBufferPointer(rebasing: $0[sentOfFirst..<sentOfFirst + count]))
    }
    sentOfFirst += count
    outgoingBytes -= count
    if sentOfFirst == first.count {
      _ = outgoing.popFirst()
      sentOfFirst = 0
    }
    return .bytes(count)
  }

  // MARK: - The answer

  /// Takes the beginning of the answer; false if nothing more is to come.
  package mutating func take(_ head: PassedAnswer) -> Bool {
    self.head = head
    endEarly()
    return end == nil
  }

  /// Ends at the answer's last byte if the other relay has answered before all of the body came:
  /// nobody sends the rest any more, and libcurl would wait for it.
  private mutating func endEarly() {
    guard let length = head?.contentLength, answerBytes >= length, isTaken, !isBodyWhole else {
      return
    }
    finish(.success(()))
  }

  /// Takes a piece of the answer's body; false if it has to be offered again later.
  package mutating func take(answer piece: [UInt8]) -> Bool {
    guard incomingBytes < Self.waitingBytesMax else {
      isAnswerHeld = true
      return false
    }
    incoming.append(piece)
    incomingBytes += piece.count
    answerBytes += Int64(piece.count)
    endEarly()
    return true
  }

  /// Hands out the next piece of the answer's body; nil if none is here.
  ///
  /// - Returns: The piece, and whether the answer goes on now.
  package mutating func nextOfAnswer() -> (piece: [UInt8]?, goesOn: Bool) {
    guard let piece = incoming.popFirst() else { return (nil, false) }
    incomingBytes -= piece.count
    guard isAnswerHeld, incomingBytes < Self.waitingBytesMax else { return (piece, false) }
    isAnswerHeld = false
    return (piece, true)
  }

  /// Hands out all of the answer's body, if nothing more is to come of it; nil otherwise, or if
  /// only a part has come.
  package mutating func takeWholeAnswer() -> [UInt8]? {
    guard case .success? = end else { return nil }
    var bytes = incoming.popFirst() ?? []
    while let piece = incoming.popFirst() { bytes += piece }
    incomingBytes = 0
    return bytes
  }

  /// Whether there is a piece of the answer, or never will be another one.
  package var hasNextOfAnswer: Bool { !incoming.isEmpty || end != nil }

  /// Notes what came of it; the first note counts.
  package mutating func finish(_ result: Result<Void, PassingFailure>) {
    if end == nil { end = result }
  }
}
