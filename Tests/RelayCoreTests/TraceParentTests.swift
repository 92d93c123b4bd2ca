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
