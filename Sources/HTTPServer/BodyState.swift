import RelayCore

/// The state of reading a request's body: how much was read, and whether it comes fast enough.
struct BodyState: Sendable {
  enum Taken: Sendable {
    case needMore
    case piece([UInt8])
    case end
    case refused(ProtocolProblem)
  }

  private enum Framing: Sendable {
    case length(left: Int64)
    case chunked(ChunkDecoder)
    case over
  }

  static let none = BodyState(framing: .over, awaitsContinue: false)

  private var framing: Framing
  private var byteCount: Int64 = 0
  /// Whether the sender holds the body back until it gets `100 Continue`.
  private var awaitsContinue: Bool

  // Only the time spent waiting for the peer counts, not a handler's time between two reads.
  private var waitLeftNs: Int64?
  private var waitBegan: MonotonicTime?
  private var progressBytes = 0
  private var waitedNs: Int64 = 0

  private init(framing: Framing, awaitsContinue: Bool) {
    self.framing = framing
    self.awaitsContinue = awaitsContinue
  }

  init(_ head: RequestHead, limits: HTTPLimits) {
    switch head.framing {
    case .none, .length(0): framing = .over
    case .length(let length): framing = .length(left: length)
    case .chunked: framing = .chunked(ChunkDecoder(limits: limits))
    }
    awaitsContinue = head.expectsContinue
  }

  var isOver: Bool {
    if case .over = framing { return true }
    return false
  }

  // MARK: Taking

  /// Takes the whole body at once, if its length is stated and all of it has arrived; empty if
  /// there is none.
  mutating func takeWhole(_ input: inout InputBuffer) -> [UInt8]? {
    switch framing {
    case .over: return []
    case .length(let left) where left <= input.count:
      framing = .over
      return input.take(Int(left))
    default: return nil
    }
  }

  /// Takes the part of the body that has arrived, as one piece.
  mutating func take(_ input: inout InputBuffer, limits: HTTPLimits) -> Taken {
    var piece: [UInt8] = []
    while true {
      switch advance(&input, limits: limits) {
      case .bytes(let range): piece.append(contentsOf: input.bytes[range])
      case .refused(let problem): return .refused(problem)
      // The next call finds the reason again: every step can be repeated.
      case .needMore: return piece.isEmpty ? .needMore : .piece(piece)
      case .end: return piece.isEmpty ? .end : .piece(piece)
      }
    }
  }

  /// Drops the part of the body that has arrived; never returns a piece.
  ///
  /// A function of its own, rather than ``take(_:limits:)`` with the piece ignored: it copies
  /// nothing.
  mutating func drop(_ input: inout InputBuffer, limits: HTTPLimits) -> Taken {
    while true {
      switch advance(&input, limits: limits) {
      case .bytes: continue
      case .refused(let problem): return .refused(problem)
      case .needMore: return .needMore
      case .end: return .end
      }
    }
  }

  /// The next stretch of the input.
  private enum Stretch {
    case needMore
    /// Bytes of the body, which stay in place until more is read.
    case bytes(Range<Int>)
    case end
    case refused(ProtocolProblem)
  }

  /// Passes over the next stretch of the body that has arrived.
  private mutating func advance(_ input: inout InputBuffer, limits: HTTPLimits) -> Stretch {
    switch framing {
    case .over: return .end
    case .length(let left):
      guard !input.isEmpty else { return .needMore }
      let count = min(left, Int64(input.count))
      framing = count == left ? .over : .length(left: left - count)
      return .bytes(input.skip(Int(count)))
    case .chunked(var decoder):
      let step = decoder.next(input.bytes, from: &input.start, to: input.end)
      framing = .chunked(decoder)
      switch step {
      case .needMore: return .needMore
      case .refused(let problem): return .refused(problem)
      case .end:
        framing = .over
        return .end
      case .data(let range):
        byteCount += Int64(range.count)
        guard byteCount <= limits.bodyBytesMax else {
          return .refused(
            ProtocolProblem(.bodyTooLarge, "The body exceeds \(limits.bodyBytesMax) bytes."))
        }
        return .bytes(range)
      }
    }
  }

  /// Whether `100 Continue` has to be sent now; returns true only once.
  mutating func takeContinue() -> Bool {
    defer { awaitsContinue = false }
    return awaitsContinue
  }

  // MARK: Progress

  /// Begins a wait, and returns the time at which to give up if no more of the body comes.
  mutating func beginWait(now: MonotonicTime, limits: HTTPLimits) -> MonotonicTime {
    let left = waitLeftNs ?? limits.bodyProgressTimeoutMs * 1_000_000
    waitLeftNs = left
    waitBegan = now
    let leftInAll = max(0, limits.bodyTotalTimeoutMs * 1_000_000 - waitedNs)
    return MonotonicTime(nanoseconds: now.nanoseconds.addingSaturated(min(left, leftInAll)))
  }

  /// Notes that bytes have come; ``HTTPLimits/bodyProgressBytesMin`` of them begin a new period.
  mutating func progressed(_ count: Int, now: MonotonicTime, limits: HTTPLimits) {
    if let waitBegan { waitedNs += now.nanoseconds - waitBegan.nanoseconds }
    progressBytes += count
    if progressBytes >= limits.bodyProgressBytesMin {
      progressBytes = 0
      waitLeftNs = nil
    } else if let waitLeftNs, let waitBegan {
      self.waitLeftNs = max(0, waitLeftNs - (now.nanoseconds - waitBegan.nanoseconds))
    }
    waitBegan = nil
  }

  // MARK: Skipping

  /// Drops what has arrived of a body that nobody reads any more, and returns whether the
  /// connection is worth keeping for the rest.
  ///
  /// The response says this, so it must be certain. The rest is known if the length is stated. For
  /// a chunked body it is not: the connection can be kept only if the body's end has arrived. Nor
  /// can it be kept while the sender awaits `100 Continue`, since nobody knows whether it will send
  /// the body (RFC 9110 section 10.1.1).
  mutating func isWorthSkipping(_ input: inout InputBuffer, limits: HTTPLimits) -> Bool {
    switch drop(&input, limits: limits) {
    case .end: return true
    case .refused, .piece: return false
    case .needMore:
      guard case .length(let left) = framing else { return false }
      return !awaitsContinue && left <= limits.skippedBodyBytesMax
    }
  }
}
