/// A piece of work within a trace, as it is exported: OpenTelemetry's span.
package struct TraceSpan: Sendable, Equatable {
  /// The kind of work, by the numbers of OTLP (`opentelemetry.proto.trace.v1.Span.SpanKind`).
  package enum Kind: Int, Sendable {
    /// A request from another process was answered.
    case server = 2
    /// A request was made to another process.
    case client = 3
    /// Work that was handed over before was processed.
    case consumer = 5
  }

  /// The value of an attribute.
  package enum Value: Sendable, Equatable {
    /// Text.
    case text(String)
    /// A whole number.
    case integer(Int64)
    /// Yes or no.
    case flag(Bool)
  }

  /// A name and its value.
  package struct Attribute: Sendable, Equatable {
    /// The name.
    package let name: String
    /// The value.
    package let value: Value

    /// Puts an attribute together.
    package init(_ name: String, _ value: Value) {
      self.name = name
      self.value = value
    }
  }

  /// The trace, the span within it that this one belongs to, and the trace's flags.
  package var context: TraceContext
  /// Its own id.
  package var id: SpanID
  /// Whether it belongs to no other span: ``TraceContext/parent`` means nothing then.
  package var isRoot: Bool
  /// Whether the span that it belongs to is another process's.
  package var isParentRemote: Bool
  /// The sender's `tracestate`; nil if there is none.
  package var traceState: String?
  /// The name; one of few.
  package var name: String
  /// The kind of work.
  package var kind: Kind
  /// The time at which it began.
  package var startedAt: WallTime
  /// The time at which it ended.
  package var endedAt: WallTime
  /// Further facts about the work.
  package var attributes: [Attribute]
  /// The reason of the failure; empty if an attribute gives it, nil if the work did not fail.
  package var failure: String?

  /// Describes a span; see the properties for what each part means.
  package init(
    context: TraceContext, id: SpanID, isRoot: Bool = false, isParentRemote: Bool = false,
    traceState: String? = nil, name: String, kind: Kind, startedAt: WallTime, endedAt: WallTime,
    attributes: [Attribute], failure: String? = nil
  ) {
    self.context = context
    self.id = id
    self.isRoot = isRoot
    self.isParentRemote = isParentRemote
    self.traceState = traceState
    self.name = name
    self.kind = kind
    self.startedAt = startedAt
    self.endedAt = max(startedAt, endedAt)
    self.attributes = attributes
    self.failure = failure
  }

  /// The approximate size in bytes, in memory and as JSON.
  package var byteCount: Int {
    attributes.reduce(Self.bytesOfItsOwn + (traceState?.utf8.count ?? 0)) { sum, attribute in
      let text = if case .text(let text) = attribute.value { text.utf8.count } else { 0 }
      return sum + Self.bytesOfAttribute + attribute.name.utf8.count + text
    } + (failure?.utf8.count ?? 0)
  }

  private static let bytesOfItsOwn = 400
  private static let bytesOfAttribute = 48
}
