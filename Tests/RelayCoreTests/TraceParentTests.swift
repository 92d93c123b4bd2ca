import RelayCore
import Testing

@Suite("The trace of a request")
struct TraceParentTests {
  private let id = "4bf92f3577b34da6a3ce929d0e0e4736"
  private let parent = "00f067aa0ba902b7"

  @Test("a well-formed traceparent names its trace")
  func good() {
    for value in [
      "00-\(id)-\(parent)-01", "00-\(id)-\(parent)-00", "cc-\(id)-\(parent)-01",
      "cc-\(id)-\(parent)-01-what-the-future-holds",
    ] {
      #expect(TraceParent.traceID(of: Array(value.utf8)) == id, "\(value)")
    }
  }

  @Test("what is not well formed names none")
  func bad() {
    let zeros = String(repeating: "0", count: 32)
    for value in [
      "", "00", "00-\(id)-\(parent)", "00-\(id)-\(parent)-0", "00-\(id)-\(parent)-01-more",
      "00-\(id)-\(parent)-01x", "cc-\(id)-\(parent)-01x", "ff-\(id)-\(parent)-01",
      "00-\(zeros)-\(parent)-01", "00-\(id)-0000000000000000-01",
      "00-\(id.uppercased())-\(parent)-01", "00_\(id)-\(parent)-01", "0g-\(id)-\(parent)-01",
    ] {
      #expect(TraceParent.traceID(of: Array(value.utf8)) == nil, "\(value)")
    }
  }

  @Test("all that it says is read, and written again")
  func context() throws {
    let value = "00-\(id)-\(parent)-03"
    let context = try #require(TraceParent.context(of: Array(value.utf8)))
    #expect(context.trace.description == id && context.parent.description == parent)
    #expect(context.isSampled && context.fieldValue == value)
    let unsampled = try #require(TraceParent.context(of: Array("00-\(id)-\(parent)-02".utf8)))
    #expect(!unsampled.isSampled)
    // What a later version means by its other flags is not known.
    let later = try #require(TraceParent.context(of: Array("01-\(id)-\(parent)-ff-x".utf8)))
    #expect(later.fieldValue == "00-\(id)-\(parent)-01")
    let small = TraceContext(
      trace: TraceID(high: 0, low: 10), parent: SpanID(rawValue: 255), flags: 0)
    #expect(small.fieldValue == "00-0000000000000000000000000000000a-00000000000000ff-00")
  }

  @Test("a share of all traces is taken by their last bits")
  func share() {
    let traces = (0..<4).map { TraceID(high: 7, low: 0xAB00_0000_0000_0000 | $0 << 54) }
    #expect(traces.map { $0.isWithin(share: 0.5) } == [true, true, false, false])
    #expect(traces.allSatisfy { $0.isWithin(share: 1) && !$0.isWithin(share: 0) })
  }

  @Test("two of them are none")
  func twice() {
    var headers = HeaderBlock()
    headers.append(name: "TraceParent", value: "00-\(id)-\(parent)-01")
    #expect(TraceParent.traceID(in: headers) == id)
    headers.append(name: "traceparent", value: "00-\(id)-\(parent)-01")
    #expect(TraceParent.traceID(in: headers) == nil)
    #expect(TraceParent.traceID(in: HeaderBlock()) == nil)
  }
}
