import Foundation
import RelayCore
import Testing

@testable import RelayServer

/// A field that is taken and then left out somewhere is lost without a word: each place through
/// which what a sender says goes by hand is tried here with each field that there is.
@Suite("Where each field of an envelope arrives", .timeLimit(.minutes(5)))
struct FieldArrivalTests {
  /// Compares the fields that do not arrive somewhere with those that have a reason for it.
  private func expect(
    lost: [String], onlyFor reasons: [String: String],
    _ location: SourceLocation = #_sourceLocation
  ) {
    for name in lost where reasons[name] == nil {
      Issue.record("\(name) is lost", sourceLocation: location)
    }
    for name in reasons.keys where !lost.contains(name) {
      Issue.record("\(name) does arrive", sourceLocation: location)
    }
  }

  private func lost(_ arrives: (String) async throws -> Bool) async throws -> [String] {
    var lost: [String] = []
    for name in FieldSamples.said where try await !arrives(name) { lost.append(name) }
    return lost
  }

  /// A draft without what is made of the others.
  private func plain(_ draft: EnvelopeDraft) -> EnvelopeDraft {
    var draft = draft
    draft.fingerprint = []
    return draft
  }

  @Test("each field has a sample, and two of them if it has more than one value")
  func samples() {
    let flags = FieldSamples.values.filter { $0.value == "true" }
    let names = Set(EnvelopeField.names)
    let lacking = names.symmetricDifference(FieldSamples.values.keys)
    #expect(lacking.isEmpty, "give these a value in FieldSamples.values, or take it out")
    let others = names.subtracting(flags.keys).symmetricDifference(FieldSamples.others.keys)
    #expect(others.isEmpty, "give these another value in FieldSamples.others, or take it out")
  }

  @Test("each field becomes part of the draft")
  func drafts() async throws {
    let least = plain(try FieldSamples.draft(saying: nil))
    let lost = try await lost { plain(try FieldSamples.draft(saying: $0)) != least }
    expect(lost: lost, onlyFor: ["age": "it moves spans, and there are none"])
    #expect(try Fixture.decode(#"{"client":"c","sequence":1,"void":true}"#).isVoid)
  }

  @Test("a header field says the same as the field in JSON")
  func headers() throws {
    for name in FieldSamples.said {
      guard var relayed = try FieldSamples.relayed(saying: name)?.draft else { continue }
      let draft = plain(try FieldSamples.draft(saying: name))
      // The key is a header field of the upstream's, too.
      relayed.content.headers = draft.content.headers
      #expect(relayed == draft, "\(name)")
    }
  }

  @Test("a repeat is known by each field but those that say nothing of what is sent")
  func fingerprints() async throws {
    let reasons = [
      "key": "the fingerprint is found by it",
      "inOrder": "it says how the number counts in its lane; a repeat has its place already",
      "age": "a repeat is older",
    ]
    let lost = try await lost { name in
      let fingerprints = try FieldSamples.fingerprints(of: name)
      return fingerprints.allSatisfy { !$0.isEmpty }
        && Set(fingerprints).count == fingerprints.count
    }
    expect(lost: lost, onlyFor: reasons)
    let relayed = try #require(try FieldSamples.relayed(saying: nil)).fingerprint().finish()
    for name in FieldSamples.said where reasons[name] == nil {
      guard let other = try FieldSamples.relayed(saying: name)?.fingerprint().finish() else {
        continue
      }
      #expect(other != relayed, "\(name)")
    }
  }

  // MARK: - In the store

  @Test("the store keeps each field, also in its lists")
  func stored() async throws {
    let reasons = ["inOrder": "it is over once the envelope has its place"]
    let lost = try await lost { name in
      try await FieldStore.with { store in
        let draft = try FieldSamples.draft(saying: name)
        let record = try await store.record(try await store.append(draft))
        return record.draft == draft
      }
    }
    expect(lost: lost, onlyFor: reasons)
  }

  @Test("the view shows each field, and the contract says so")
  func shown() async throws {
    let reasons = [
      "headers": "they may hold secrets", "body": "it may hold secrets",
      "bodyBase64": "it may hold secrets", "inOrder": "it is over",
      "notBeforeIn": "notBefore is shown", "expiresIn": "expiresAt is shown",
      "age": "times are shown",
    ]
    for schema in ["EnvelopeView", "EnvelopeSummary"] {
      let properties = try Documents.properties(ofSchema: schema)
      let lost = try await lost { name in
        let shown = try await FieldStore.with { store in
          let id = try await store.append(try FieldSamples.draft(saying: name))
          return schema == "EnvelopeView"
            ? EnvelopeView(
              try await store.record(id), isInFlight: false, position: nil, now: Fixture.now)
            : EnvelopeView(
              try await store.summary(), isInFlight: false, position: nil, now: Fixture.now)
        }
        let members = try #require(
          try JSONSerialization.jsonObject(with: Data(shown.json())) as? [String: Any])
        let said = try JSONSerialization.jsonObject(
          with: Data((FieldSamples.values[name] ?? "").utf8), options: .fragmentsAllowed)
        return members[name] as? NSObject == said as? NSObject && properties.contains(name)
      }
      expect(lost: lost, onlyFor: reasons)
    }
  }

  @Test("a correction changes each field that is not said once and for all")
  func corrected() async throws {
    let rules = AcceptanceRules(try Fixture.configuration())
    let record = try await FieldStore.with { store in
      try await store.record(try await store.append(try FieldSamples.draft(saying: nil)))
    }
    func edit(_ patch: String) throws -> EnvelopeEdit {
      let patch = try EnvelopePatch(Array(patch.utf8), rules)
      return try patch.applied(
        to: record, body: patch.newBody.map { .inline($0) }, at: ArrivalTime(Fixture.now),
        { UpstreamNumber(rawValue: $0 == "default" ? 1 : 2) })
    }
    let same = try edit("{}")
    for name in FieldSamples.said where !EnvelopeField.fixedNames.contains(name) {
      let value = try #require(FieldSamples.values[name])
      #expect(try edit(#"{"\#(name)":\#(value)}"#) != same, "\(name)")
    }
  }

  @Test("a post that takes a waiting envelope's place brings each of its fields")
  func coalesced() async throws {
    let lost = try await lost { name in
      try await FieldStore.with { store in
        let besides = ["coalesce": #""x""#, "key": #""k3""#]
        if ["client", "lane", "sequence", "coalesce"].contains(name) { return true }
        let id = try await store.append(try FieldSamples.draft(saying: nil, besides: besides))
        let latest = try FieldSamples.draft(saying: name, besides: ["coalesce": #""x""#])
        guard try await store.append(latest) == id else { return false }
        return try await store.record(id).draft == latest
      }
    }
    expect(lost: lost, onlyFor: ["inOrder": "it says something of a number, and there is none"])
  }

  // MARK: - To another relay

  /// The reasons why the next relay is not told of some fields.
  private static let leftHere = [
    "hold": "it is over once the envelope is sent", "notBefore": "it is over, too",
    "notBeforeIn": "it is over, too",
    "upstream": "this relay's configuration says what the next one calls it",
    "inOrder": "it goes with each number, whether it was said or not",
  ]

  @Test("the next relay is told each field in a batch")
  func handedOn() async throws {
    let lost = try await lost { name in
      let draft = try FieldSamples.draft(saying: name)
      let handedOn = try await FieldStore.with { store in try await store.handOn(draft) }
      let text = try #require(handedOn.post())
      return isSame(try Fixture.decode(String(decoding: text, as: UTF8.self)), as: draft)
    }
    expect(lost: lost, onlyFor: Self.leftHere)
  }

  @Test("the next relay is told each field in header fields")
  func handedOnByItself() async throws {
    let lost = try await lost { name in
      let draft = try FieldSamples.draft(saying: name)
      let handedOn = try await FieldStore.with { store in try await store.handOn(draft) }
      let content = handedOn.content()
      // These two every upstream is told.
      var lines = ["Waystation-Client: \(draft.client)", "Idempotency-Key: \(handedOn.key)"]
      for block in [content.headers, handedOn.termFields()] {
        lines += text(block).split(separator: "\r\n").map(String.init)
      }
      var there = try Fixture.relay(
        String(decoding: content.target, as: UTF8.self), lines, method: content.method, client: nil
      ).draft
      there.content.body = content.body
      return isSame(there, as: draft)
    }
    expect(lost: lost, onlyFor: Self.leftHere)
  }

  /// Whether the next relay has the same envelope.
  private func isSame(_ there: EnvelopeDraft, as here: EnvelopeDraft) -> Bool {
    var (there, here) = (plain(there), plain(here))
    // The upstream knows a repeat by what the first relay called it.
    var headers = HeaderBlock()
    for field in there.content.headers where !field.isNamed("Idempotency-Key") {
      headers.append(name: field.name, value: field.value)
    }
    there.content.headers = headers
    if here.sequence != nil { here.isInOrder = true }
    return there == here
  }
}
