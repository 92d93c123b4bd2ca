import Cryptography
import Forwarder
import RelayCore

/// An envelope whose spans are exported, and the spans that tell of it.
///
/// Three kinds: `accept`, once it is on disk, to which the others belong; one for each attempt; and
/// `deliver`, from its acceptance to its end. The id of `accept` comes of the envelope's own, so
/// that nothing has to be kept for a restart.
struct TracedEnvelope: Sendable {
  /// The relay's name for it.
  let id: EnvelopeID
  /// The trace, and its `accept` span as the parent of what follows.
  let context: TraceContext
  /// The sender's span; nil where the relay has begun the trace.
  let senderSpan: SpanID?
  /// The sender's `tracestate`; nil if there is none.
  let traceState: String?
  /// The sender's name.
  let client: String
  /// The upstream's name.
  let upstream: String

  /// The longest `tracestate` that is told, in bytes (W3C Trace Context, section 3.3.1.5).
  private static let traceStateBytesMax = 512

  /// nil if its spans are not to be exported.
  ///
  /// - Parameters:
  ///   - revision: How often a later post has taken its place.
  ///   - share: Of how many of those that name no trace one is begun.
  init?(
    _ id: EnvelopeID, revision: Int64, headers: HeaderBlock, client: String, upstream: String,
    share: Double
  ) {
    let given = TraceParent.context(in: headers)
    if let given {
      guard given.isSampled else { return nil }
    } else {
      // What stands there and is no traceparent is left to whoever understands it.
      guard !TraceParent.isPresent(in: headers), Self.isBegun(for: id, share: share) else {
        return nil
      }
    }
    let names = DerivedNames(id, revision: revision)
    self.id = id
    context = TraceContext(
      trace: given?.trace ?? (revision == 0 ? names : DerivedNames(id, revision: 0)).trace,
      parent: names.span,
      flags: given?.flags ?? TraceContext.sampledFlag)
    senderSpan = given?.parent
    traceState = headers.first("tracestate").flatMap {
      $0.isEmpty || $0.utf8.count > Self.traceStateBytesMax ? nil : $0
    }
    self.client = client
    self.upstream = upstream
  }

  private static func isBegun(for id: EnvelopeID, share: Double) -> Bool {
    if share >= 1 { return true }
    return share > 0 && DerivedNames(id, revision: 0).trace.isWithin(share: share)
  }

  /// The trace that the relay begins for an envelope without one; nil if it does not.
  static func ownTrace(of id: EnvelopeID, headers: HeaderBlock, share: Double) -> TraceID? {
    guard !TraceParent.isPresent(in: headers), isBegun(for: id, share: share) else { return nil }
    return DerivedNames(id, revision: 0).trace
  }

  // MARK: - Its spans

  /// It is on disk.
  func accepted(
    lane: String, state: EnvelopeState, from start: WallTime, to end: WallTime
  ) -> TraceSpan {
    var parent = context
    if let senderSpan { parent.parent = senderSpan }
    let standing = TraceSpan.Attribute("waystation.state", .text(state.rawValue))
    return TraceSpan(
      context: parent, id: context.parent, isRoot: senderSpan == nil,
      isParentRemote: senderSpan != nil, traceState: traceState, name: "accept", kind: .server,
      startedAt: start, endedAt: end, attributes: names(lane: lane) + [standing])
  }

  /// An attempt of it has ended.
  func attempted(_ attempt: TracedAttempt, _ report: AttemptReport, lane: String?) -> TraceSpan {
    let outcome = AttemptOutcome(report.event)
    return TraceSpan(
      context: context, id: attempt.span, traceState: traceState, name: attempt.spanName,
      kind: .client, startedAt: report.startedAt,
      endedAt: report.startedAt.adding(milliseconds: max(0, report.durationMs)),
      attributes: attempt.attributes + outcome.attributes + names(lane: lane),
      failure: outcome.isFailure ? (outcome.status == nil ? report.sentence : "") : nil)
  }

  /// It has ended.
  func ended(
    _ state: EnvelopeState, reason: String, attempts: Int32?, lane: String?, at time: WallTime
  ) -> TraceSpan {
    var attributes = names(lane: lane)
    attributes.append(TraceSpan.Attribute("waystation.state", .text(state.rawValue)))
    if let attempts {
      attributes.append(TraceSpan.Attribute("waystation.attempts", .integer(Int64(attempts))))
    }
    let isFailure = state != .delivered && state != .cancelled
    if isFailure { attributes.append(TraceSpan.Attribute("error.type", .text(state.rawValue))) }
    return TraceSpan(
      context: context, id: .random(), traceState: traceState, name: "deliver", kind: .consumer,
      startedAt: id.acceptedAt, endedAt: time, attributes: attributes,
      failure: isFailure ? reason : nil)
  }

  private func names(lane: String?) -> [TraceSpan.Attribute] {
    var attributes = [
      TraceSpan.Attribute("waystation.envelope.id", .text("\(id)")),
      TraceSpan.Attribute("waystation.client", .text(client)),
      TraceSpan.Attribute("waystation.upstream", .text(upstream)),
    ]
    if let lane { attributes.append(TraceSpan.Attribute("waystation.lane", .text(lane))) }
    return attributes
  }
}

/// Ids derived from an envelope's id, the same after each restart.
private struct DerivedNames {
  let trace: TraceID
  let span: SpanID

  init(_ id: EnvelopeID, revision: Int64) {
    var bytes = Self.bytes(id.high) + Self.bytes(id.low)
    if revision > 0 { bytes += Self.bytes(UInt64(bitPattern: revision)) }
    let digest = SHA256.digest(of: bytes)
    // An id of nothing but zeros is none.
    trace = TraceID(high: Self.number(digest[0..<8]), low: Self.number(digest[8..<16]) | 1)
    span = SpanID(rawValue: Self.number(digest[16..<24]) | 1)
  }

  private static func bytes(_ number: UInt64) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: number >> UInt64(56 - 8 * $0)) }
  }

  private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
    bytes.reduce(0) { $0 << 8 | UInt64($1) }
  }
}

extension SpanID {
  /// One that nobody else has.
  static func random() -> SpanID { SpanID(rawValue: .random(in: 1...UInt64.max)) }
}
