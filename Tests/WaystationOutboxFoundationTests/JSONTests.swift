import Foundation
import Testing
import WaystationOutbox
import WaystationOutboxFoundation

@Suite("Values as JSON bodies")
struct JSONTests {
  private struct Line: Codable, Equatable {
    var article: String
    var price: Double
  }

  private struct Sale: Codable, Equatable {
    var till: String
    var at = Date(timeIntervalSince1970: 1_800_000_000)
    var lines: [Line] = []
    var note: String?
  }

  private func text(_ body: Body) -> String? {
    guard case .bytes(let bytes, let type) = body else { return nil }
    return "\(type) \(String(decoding: bytes, as: UTF8.self))"
  }

  @Test("a value becomes JSON whose members stand in order, and comes back")
  func there() throws {
    let sale = Sale(till: "a/1", lines: [Line(article: "tea", price: 2.5)])
    let body = try Body.json(encoding: sale)
    let lines = #"[{"article":"tea","price":2.5}]"#
    #expect(
      text(body)
        == #"application/json {"at":"2027-01-15T08:00:00Z","lines":\#(lines),"till":"a/1"}"#)
    guard case .bytes(let bytes, _) = body else { return }
    let answer = Response(status: 200, headers: [], body: bytes)
    #expect(try answer.decoded(as: Sale.self) == sale)
  }

  @Test("the same value has the same bytes each time, whatever the form changes")
  func same() throws {
    let many = Dictionary(uniqueKeysWithValues: (0..<50).map { ("member\($0)", $0) })
    let form = FoundationJSON { encoder, _ in encoder.outputFormatting = [.prettyPrinted] }
    let first = try form.encode(many)
    for _ in 0..<5 { #expect(try form.encode(many) == first) }
    #expect(String(decoding: first, as: UTF8.self).hasPrefix("{\n  \"member0\" : 0,\n"))
  }

  @Test("what has no JSON is refused, and its place is told")
  func noJSON() {
    let sale = Sale(till: "a", lines: [Line(article: "tea", price: .nan)])
    let fault = #expect(throws: JSONFault.self) { try Body.json(encoding: sale) }
    #expect(fault?.path == "lines.0.price", "\(String(describing: fault))")
  }

  @Test(
    "an answer of another form is refused, and the place is told",
    arguments: [
      (#"{"at":"2027-01-15T08:00:00Z","lines":[]}"#, "till"),
      (
        #"{"at":"2027-01-15T08:00:00Z","lines":[{"article":1,"price":1}],"till":"a"}"#,
        "lines.0.article"
      ),
      (#"{"at":7,"lines":[],"till":"a"}"#, "at"),
      ("<html>", ""),
    ])
  func otherForm(text: String, path: String) {
    let answer = Response(status: 200, headers: [], body: Array(text.utf8))
    let fault = #expect(throws: JSONFault.self) { try answer.decoded(as: Sale.self) }
    #expect(fault?.path == path, "\(String(describing: fault))")
    #expect(fault.map { "\($0)".isEmpty } == false)
  }

  @Test("an answer of which only the beginning is there is no value")
  func cut() {
    let answer = Response(status: 200, headers: [], body: Array("12".utf8), isCut: true)
    let fault = #expect(throws: JSONFault.self) { try answer.decoded(as: Int.self) }
    #expect(fault?.reason == "the body is cut after 2 bytes")
  }
}
