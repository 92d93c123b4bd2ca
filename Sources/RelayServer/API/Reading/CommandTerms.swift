import JSON
import RelayCore

/// The way to settle a blocked envelope: the body of `POST /v1/envelopes/{id}/resolve`.
package enum Resolution: String, Sendable, CaseIterable {
  /// It is tried again, as it stands now.
  case retry
  /// It becomes a dead letter, and its lane goes on.
  case discard

  /// Reads the body; nil stands for none.
  package init(_ text: [UInt8]?) throws(Problem) {
    var action: Resolution?
    try CommandTerms.forEach(of: text, ["action"]) { member throws(Problem) in
      guard let word = try? member.value.string(), let known = Resolution(rawValue: word) else {
        throw EnvelopeFields.wrong("action", member.value, "\"retry\" or \"discard\"")
      }
      action = known
    }
    guard let action else {
      throw .missingField(
        "/action", "The body does not say what is to be done.",
        fix: #"Send {"action": "retry"} or {"action": "discard"}."#)
    }
    self = action
  }
}

/// The terms for an envelope that is put back in line: the body of `POST
/// /v1/envelopes/{id}/requeue`.
package struct RequeueTerms: Sendable {
  private var terms = EnvelopeTerms()

  /// Reads the body; nil stands for none.
  package init(_ text: [UInt8]?) throws(Problem) {
    guard let text else { return }
    var terms = EnvelopeTerms()
    try CommandTerms.forEach(of: text, ["expiresAt", "expiresIn"]) { member throws(Problem) in
      if member.name.equals("expiresAt") {
        terms.expiresAt = try EnvelopeFields.time("expiresAt", member.value)
      } else {
        terms.relative.expiresIn = try EnvelopeFields.span("expiresIn", member.value)
      }
    }
    try terms.checkSpans(.json)
    self.terms = terms
  }

  /// The time when it expires; nil for the upstream's own deadline, counted from now.
  package func expiresAt(from arrival: ArrivalTime) -> WallTime? { terms.expiresAt(from: arrival) }
}

/// The folder for a rescued store: the body of `POST /v1/store/rescue`.
package struct RescueTerms: Sendable {
  /// The folder's path, from the root.
  package let folder: String

  /// Reads the body; nil stands for none.
  package init(_ text: [UInt8]?) throws(Problem) {
    var folder: String?
    try CommandTerms.forEach(of: text, ["to"]) { member throws(Problem) in
      guard let path = try? member.value.string(), path.hasPrefix("/"), path.utf8.count < 4096,
        !path.utf8.contains(0)
      else {
        throw EnvelopeFields.wrong("to", member.value, "the path of a folder, from the root")
      }
      folder = path
    }
    guard let folder else {
      throw .missingField(
        "/to", "The body does not say where the new store is to be.",
        fix: #"Send {"to": "/backup/rescued"}."#)
    }
    self.folder = folder
  }
}

/// Goes through the small objects that calls come with.
enum CommandTerms {
  /// Reads each member; a name that is not among `names` is refused.
  static func forEach(
    of text: [UInt8]?, _ names: [String], _ read: (JSONMember) throws(Problem) -> Void
  ) throws(Problem) {
    guard let text else { return }
    let value: JSONValue
    do throws(JSONError) {
      value = try JSONValue.parse(text)
    } catch {
      throw .malformedJSON(error, in: text[...])
    }
    guard let object = try? value.object() else {
      throw .invalidField("", "The body is \(value.kind.inWords); it has to be an object.")
    }
    for member in object {
      let name = member.name.string
      guard names.contains(name) else { throw EnvelopeFields.unknown(name, among: names) }
      try read(member)
    }
  }
}
