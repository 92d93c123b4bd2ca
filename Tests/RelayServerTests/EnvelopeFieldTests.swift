import Foundation
import Testing

@testable import RelayServer

@Suite("What the documents say of an envelope's fields")
struct EnvelopeFieldTests {
  private static let names = Set(EnvelopeField.names)
  private static let headers = Set(EnvelopeField.all.compactMap { $0.header?.description })

  /// Compares names with those of the records, both ways.
  private func expect(
    _ found: [String], toBe wanted: Set<String>, in place: String,
    _ location: SourceLocation = #_sourceLocation
  ) {
    for name in wanted.subtracting(found).sorted() {
      Issue.record("\(place) lacks \(name)", sourceLocation: location)
    }
    for name in Set(found).subtracting(wanted).sorted() {
      Issue.record("\(place) has \(name), which no field is called", sourceLocation: location)
    }
    #expect(Set(found).count == found.count, "no name stands twice", sourceLocation: location)
  }

  @Test("no name and no header field stands for two fields")
  func names() {
    #expect(Self.names.count == EnvelopeField.all.count)
    #expect(Self.headers.count == EnvelopeField.all.count { $0.header != nil })
    #expect(EnvelopeField.relayed.count == Self.headers.count)
  }

  @Test("the contract's schema of an envelope has every field, and none that there is not")
  func schema() throws {
    expect(
      try Documents.properties(ofSchema: "Envelope"), toBe: Self.names, in: "Envelope")
  }

  @Test("the contract's schema of a correction has all fields but those that stay")
  func patch() throws {
    expect(
      try Documents.properties(ofSchema: "EnvelopePatch"),
      toBe: Self.names.subtracting(EnvelopeField.fixedNames), in: "EnvelopePatch")
  }

  @Test("the contract's parameters have every header field, and none that there is not")
  func parameters() throws {
    let parts = try Documents.text("openapi.yaml").components(separatedBy: "\n  parameters:\n")
    try #require(parts.count == 2)
    let named = parts[1].components(separatedBy: "\n").compactMap { line in
      line.hasPrefix("      name: ") ? String(line.dropFirst(12)) : nil
    }
    expect(
      named.filter { $0.hasPrefix("Waystation-") || $0 == "Idempotency-Key" },
      toBe: Self.headers.union(["Idempotency-Key"]), in: "openapi.yaml")
    let path = try #require(
      parts[0].components(separatedBy: "\n  /v1/relay/{upstream}/{path}:\n").last)
    for header in Self.headers {
      let name = header.replacingOccurrences(of: "-", with: "")
      #expect(path.contains("- $ref: '#/components/parameters/\(name)'\n"), "\(header)")
    }
  }

  @Test("the protocol's table has every field, and none that there is not")
  func table() throws {
    let rows = try Documents.table("field | meaning | if absent", in: "docs/protocol.md")
    expect(rows.flatMap { Documents.quoted(in: $0[0]) }, toBe: Self.names, in: "docs/protocol.md")
  }

  @Test("the protocol's sentence about header fields has every one, and none that there is not")
  func sentence() throws {
    let page = try Documents.text("docs/protocol.md")
    let behind = page.components(separatedBy: "What the relay needs to know is in header fields")
    try #require(behind.count == 2)
    let paragraph = behind[1].components(separatedBy: "\n\n")[0]
    let named = Documents.quoted(in: paragraph).compactMap { word in
      word.hasPrefix("-") ? "Waystation\(word)" : word.contains("-") ? word : nil
    }
    expect(named, toBe: Self.headers, in: "docs/protocol.md")
  }
}
