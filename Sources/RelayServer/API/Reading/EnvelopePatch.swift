import JSON
import RelayCore

/// A correction of an envelope that waits, or that ended undelivered: a JSON merge patch (RFC 7396)
/// over what its sender said.
///
/// A field that is given takes the old one's place, null puts the default back, and what is not
/// there stays. Only `headers` are merged within. `body` is replaced whole: what was stored of it
/// is bytes, and they need not be JSON.
package struct EnvelopePatch: Sendable {
  private let rules: AcceptanceRules
  private var given: Set<String> = []
  private var cleared: Set<String> = []
  private var fields: EnvelopeFields
  private var headers: HeaderPatch?

  /// The members that the relay shows and nobody sets.
  static let shownNames: Set<String> = [
    "id", "state", "position", "reason", "acceptedAt", "nextAttemptAt", "endedAt", "attemptCount",
    "attempts", "responseStatus", "bodyBytes", "missing", "moreMissing",
    "inDoubt", "progress", "trace", "waitsFor", "waitsBehind",
  ]

  /// Reads a patch.
  ///
  /// - Throws: `malformed-json`, `unknown-field`, `invalid-field`, `unknown-upstream` or
  ///   `body-too-large`; the first thing that is wrong decides.
  package init(_ text: [UInt8], _ rules: AcceptanceRules) throws(Problem) {
    self.rules = rules
    fields = EnvelopeFields(rules: rules)
    let value: JSONValue
    do throws(JSONError) {
      value = try JSONValue.parse(text)
    } catch {
      throw .malformedJSON(error, in: text[...])
    }
    guard let object = try? value.object() else {
      throw .invalidField(
        "", "A patch is an object, but here stands \(value.kind.inWords).",
        fix: "Send an object with the fields that are to change.")
    }
    for member in object { try read(member) }
    try fields.terms.checkSpans(.json)
    for (span, time) in [("expiresIn", "expiresAt"), ("notBeforeIn", "notBefore")]
    where mentions(span) && mentions(time) && !cleared.isSuperset(of: [span, time]) {
      throw .saidTwice("/\(span)", "/\(time)")
    }
  }

  private mutating func read(_ member: JSONMember) throws(Problem) {
    let name = member.name.string
    if EnvelopeField.fixedNames.contains(name) || Self.shownNames.contains(name) {
      throw .invalidField(
        "/\(name)", "\(name) cannot be changed.",
        fix: EnvelopeField.fixedNames.contains(name)
          ? "Leave it out; or cancel this envelope, and post another one." : "Leave it out.")
    }
    if name == "headers" {
      headers = try HeaderPatch(member.value, rules.limits)
    } else if member.value.isNull, EnvelopeField.names.contains(name) {
      if name == "path" {
        throw .invalidField("/path", "An envelope has a path.", fix: "Give the new path.")
      }
      cleared.insert(name)
    } else {
      try fields.read(member)
      given.insert(name)
    }
  }

  /// The names of what it changes, and nothing of their values.
  package var changedNames: [String] {
    (given.union(cleared) + (headers == nil ? [] : ["headers"])).sorted()
  }

  /// Whether it changes nothing.
  package var isEmpty: Bool { given.isEmpty && cleared.isEmpty && headers == nil }

  /// The body that takes the old one's place; nil if that stays.
  package var newBody: [UInt8]? {
    switch fields.body {
    case .text(let bytes), .json(let bytes), .bytes(let bytes): bytes
    case .none: cleared.contains("body") || cleared.contains("bodyBase64") ? [] : nil
    }
  }

  /// The envelope as the patch has it.
  ///
  /// - Parameters:
  ///   - record: The envelope as it stands.
  ///   - body: ``newBody``, wherever it stands by now; nil if the old one stays.
  ///   - arrival: When the patch came.
  ///   - number: The store's number of a configured upstream.
  package func applied(
    to record: EnvelopeRecord, body: EnvelopeBody?, at arrival: ArrivalTime,
    _ number: (String) -> UpstreamNumber?
  ) throws(Problem) -> EnvelopeEdit {
    try holdToEvidence(record.draft.lane, rules)
    var entry = record.entry
    let terms = try upstream(of: record.draft)
    if mentions("upstream"), let terms, let upstream = number(terms.name) {
      if upstream != entry.upstream { entry.dueAt = record.draft.notBefore }
      entry.upstream = upstream
    }
    let notBefore =
      isNotBeforeChanged ? fields.terms.notBefore(from: arrival) : record.draft.notBefore
    if isNotBeforeChanged { entry.dueAt = notBefore }
    entry.standing = try standing(of: record)
    if isDeadlineChanged {
      let asked: WallTime
      if let expiresAt = fields.terms.expiresAt(from: arrival) {
        asked = expiresAt
      } else {
        let deadlineMs = try configured(terms, record.draft).deadlineMs
        asked = arrival.deadlineStart.deadline(afterMs: deadlineMs)
      }
      entry.expiresAt = rules.deadline(asked, of: record)
    }
    // Of one that has ended, the deadline is another once it is requeued.
    if !record.state.isEnd, let field = fieldOfTimes {
      try AcceptanceRules.checkTimes(
        notBefore: notBefore, expiresAt: entry.expiresAt, field: "/\(field)")
    }
    if let onFailure = fields.terms.onFailure {
      entry.onFailure = onFailure
    } else if cleared.contains("onFailure") {
      entry.onFailure = try configured(terms, record.draft).onFailure
    }
    let references =
      mentions("references") ? fields.terms.references ?? false : record.draft.references
    if references { try rules.checkReferences(inLane: record.draft.lane) }
    let content = try content(of: record.draft, body, references: references)
    try terms?.checkPart(content.headers, field: "/headers/Content-Range")
    return EnvelopeEdit(
      content: content,
      tag: changed("tag", record.draft.tag, fields.terms.tag), entry: entry, notBefore: notBefore,
      references: references,
      hold: entry.standing == .parked || record.state.isEnd ? isHeld(record.draft) : nil)
  }

  private static let notBeforeNames = ["notBefore", "notBeforeIn"]
  private static let deadlineNames = ["expiresAt", "expiresIn"]

  private var isNotBeforeChanged: Bool { Self.notBeforeNames.contains(where: mentions) }

  private var isDeadlineChanged: Bool { Self.deadlineNames.contains(where: mentions) }

  /// The field to name where the times do not fit each other; nil if it changes none.
  private var fieldOfTimes: String? {
    (Self.notBeforeNames + Self.deadlineNames).first(where: mentions)
  }

  /// Whether it says that the envelope is held; null puts the default back.
  private var givenHold: Bool { fields.terms.hold ?? false }

  private func isHeld(_ draft: EnvelopeDraft) -> Bool {
    mentions("hold") ? givenHold : draft.hold
  }

  private func mentions(_ name: String) -> Bool { given.contains(name) || cleared.contains(name) }

  private func changed<Value>(_ name: String, _ old: Value?, _ new: Value?) -> Value? {
    mentions(name) ? new : old
  }

  /// Its upstream from now on; nil if it keeps one that is not configured any more.
  private func upstream(
    of draft: EnvelopeDraft
  ) throws(Problem) -> AcceptanceRules.Upstream? {
    if let upstream = fields.upstream { return upstream }
    guard cleared.contains("upstream") else { return rules.upstream(named: draft.upstream) }
    guard let upstream = rules.defaultUpstream else {
      throw .invalidField(
        "/upstream", "Of the configured upstreams none is called default.",
        fix: "Name one; GET /status lists them.")
    }
    return upstream
  }

  private func configured(
    _ terms: AcceptanceRules.Upstream?, _ draft: EnvelopeDraft
  ) throws(Problem) -> AcceptanceRules.Upstream {
    guard let terms else { throw .unknownUpstream(draft.upstream, field: "/upstream") }
    return terms
  }

  private func standing(of record: EnvelopeRecord) throws(Problem) -> Standing {
    guard mentions("hold"), record.entry.standing != .parked else { return record.entry.standing }
    guard !record.state.isEnd else {
      try checkHold(ofEnded: record)
      return record.entry.standing
    }
    guard record.entry.standing == .blocked else { return givenHold ? .held : .queued }
    guard !givenHold else {
      throw .invalidField(
        "/hold", "The envelope blocks its lane, and waits until it is resolved anyway.",
        fix: "Leave hold out.")
    }
    return .blocked
  }

  /// Requeueing holds only what was never attempted: the hold of any other is spent.
  private func checkHold(ofEnded record: EnvelopeRecord) throws(Problem) {
    guard givenHold, record.attemptCount > 0 else { return }
    throw .invalidField(
      "/hold", "The envelope has been attempted, so it is not held once it is requeued.",
      fix: "Leave hold out; to have it wait, set notBefore, or pause its lane.")
  }

  private func content(
    of draft: EnvelopeDraft, _ body: EnvelopeBody?, references: Bool
  ) throws(Problem) -> EnvelopeContent {
    let old = draft.content
    let target = try fields.target(references: references) ?? old.target
    let content = EnvelopeContent(
      method: mentions("method") ? fields.method : old.method, target: target,
      headers: try headers(of: old.headers), body: body ?? old.body)
    if references {
      try content.checkReferences(.json, bodyBytesMax: rules.limits.spoolThresholdBytes)
    } else if draft.references, let refusal = TargetSyntax.refusal(of: target[...]) {
      throw .invalidField(
        "/path", "Without references, the path \(refusal).", fix: "Give the new path as well.")
    }
    return content
  }

  /// The header fields, with the type that a new body needs where nobody has given another.
  private func headers(
    of old: RelayCore.HeaderBlock
  ) throws(Problem) -> RelayCore.HeaderBlock {
    let kept = defaultType == nil || headers?.hasContentType == true ? old : Self.untyped(old)
    var lines = HeaderLines()
    if let headers {
      lines = try headers.applied(to: kept)
    } else {
      for field in kept { lines.append(field.name, field.value) }
    }
    guard let block = lines.block else { throw .internalError() }
    guard let defaultType, block.first("Content-Type") == nil else { return block }
    lines.prepend(defaultType)
    guard let typed = lines.block else { throw .internalError() }
    return typed
  }

  /// The line that says what the new body is; nil if it stays, or is bytes of which only the sender
  /// knows.
  private var defaultType: StaticString? {
    switch fields.body {
    case .text: DefaultContentType.text
    case .json: DefaultContentType.json
    case .bytes, .none: nil
    }
  }

  /// A block without a type that the relay may have given by itself: it spoke of the old body.
  private static func untyped(_ block: RelayCore.HeaderBlock) -> RelayCore.HeaderBlock {
    var kept = RelayCore.HeaderBlock()
    for field in block
    where !field.isNamed("Content-Type") || !DefaultContentType.isOne(field.value) {
      kept.append(name: field.name, value: field.value)
    }
    return kept
  }
}
