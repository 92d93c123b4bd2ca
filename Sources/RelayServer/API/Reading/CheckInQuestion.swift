import JSON
import RelayCore

/// The question of a device that checks in: the body of `POST /v1/checkin`.
package struct CheckInQuestion: Sendable, Equatable {
  /// The items that a device has to send in one of its lanes.
  package struct Lane: Sendable, Equatable {
    /// The lane's name.
    package var name: String
    /// The sequence numbers that the device has; nil if it says nothing of them.
    package var numbers: SequenceRange?
    /// Their size in bytes; nil if the device does not say.
    package var bytes: Int64?

    /// Describes a lane.
    package init(name: String, numbers: SequenceRange? = nil, bytes: Int64? = nil) {
      self.name = name
      self.numbers = numbers
      self.bytes = bytes
    }
  }

  /// The client that checks in.
  package private(set) var client: String
  /// The items that it has to send, by lane; empty if it only asks.
  package private(set) var lanes: [Lane] = []
  /// The `since` of the last answer; 0 if there was none.
  package private(set) var since: EndingNumber = 0

  /// The most bytes of the body of an answer that is to be told with its ending; nil for none.
  package private(set) var responseBytesMax: Int?

  /// The greatest ``responseBytesMax``.
  package static let responseBytesRange: ClosedRange<Int64> = 0...65_536

  /// The most lanes of one question.
  package static let lanesMax = 100

  /// Reads the body; nil stands for none.
  ///
  /// - Parameter sender: The client that asks, where a credential says which; no other may be named
  ///   then.
  /// - Throws: `malformed-json`, `unknown-field`, `invalid-field`, `missing-field` or `forbidden`.
  package init(_ text: [UInt8]?, from sender: String? = nil) throws(Problem) {
    var client: String?
    var lanes: [Lane] = []
    var since: EndingNumber = 0
    var responseBytesMax: Int?
    try CommandTerms.forEach(of: text, ["client", "lanes", "since", "responses"]) {
      member throws(Problem) in
      switch member.name {
      case "client": client = try Self.name(member.value, "/client")
      case "lanes": lanes = try Self.lanes(member.value)
      case "responses": responseBytesMax = try Self.responses(member.value)
      default: since = try Self.since(member.value)
      }
    }
    guard let client = try Caller.client(client, of: sender, field: "/client") else {
      throw .missingField(
        "/client", "The body does not say who checks in.", fix: #"Send {"client": "..."}."#)
    }
    self.client = client
    self.lanes = lanes
    self.since = since
    self.responseBytesMax = responseBytesMax
  }

  private static func lanes(_ value: JSONValue) throws(Problem) -> [Lane] {
    guard let array = try? value.array() else {
      throw .invalidField("/lanes", "lanes is \(value.shown); it has to be an array.")
    }
    var lanes: [Lane] = []
    for element in array {
      guard lanes.count < lanesMax else {
        throw .invalidField(
          "/lanes", "A check-in may name \(lanesMax) lanes at the most.",
          fix: "Check in several times.")
      }
      let lane = try lane(element, "/lanes/\(lanes.count)")
      guard !lanes.contains(where: { $0.name == lane.name }) else {
        throw .invalidField(
          "/lanes/\(lanes.count)", "The lane \(lane.name) stands there twice.",
          fix: "Name each lane once.")
      }
      lanes.append(lane)
    }
    return lanes
  }

  private static func responses(_ value: JSONValue) throws(Problem) -> Int {
    guard let object = try? value.object() else {
      throw .invalidField(
        "/responses", "responses is \(value.shown); it has to be an object.",
        fix: #"Send {"bytesMax": 4096}."#)
    }
    var bytesMax: Int?
    for member in object {
      let name = member.name.string
      guard name == "bytesMax" else {
        throw .unknownField(
          "/responses/\(JSONPointer.escape(name))", name: name,
          near: NearestWord.find(name, in: ["bytesMax"]))
      }
      bytesMax = Int(try number(member.value, "/responses/bytesMax", responseBytesRange))
    }
    guard let bytesMax else {
      throw .missingField(
        "/responses/bytesMax", "It is not said how large an answer may be.",
        fix: #"Send {"bytesMax": 4096}."#)
    }
    return bytesMax
  }

  private static let laneFields = ["lane", "first", "last", "bytes"]

  private static func lane(_ value: JSONValue, _ path: String) throws(Problem) -> Lane {
    guard let object = try? value.object() else {
      throw .invalidField(path, "Here stands \(value.shown); it has to be an object.")
    }
    var lane = Lane(name: LaneSyntax.defaultName)
    var first: Int64?
    var last: Int64?
    for member in object {
      let name = member.name.string
      switch name {
      case "lane": lane.name = try self.name(member.value, "\(path)/lane")
      case "first": first = try number(member.value, "\(path)/first", SequenceSyntax.range)
      case "last": last = try number(member.value, "\(path)/last", SequenceSyntax.range)
      case "bytes":
        lane.bytes = try number(
          member.value, "\(path)/bytes", 0...SequenceSyntax.range.upperBound)
      default:
        throw .unknownField(
          "\(path)/\(JSONPointer.escape(name))", name: name,
          near: NearestWord.find(name, in: laneFields))
      }
    }
    lane.numbers = try numbers(first, last, path)
    return lane
  }

  private static func numbers(
    _ first: Int64?, _ last: Int64?, _ path: String
  ) throws(Problem) -> SequenceRange? {
    switch (first, last) {
    case (nil, nil): return nil
    case (let first?, let last?) where first <= last: return SequenceRange(first: first, last: last)
    case (_?, _?):
      throw .invalidField(
        "\(path)/first", "first is above last.",
        fix: "Give the lowest and the highest number that the device has.")
    case (nil, _): throw incomplete("\(path)/first")
    case (_, nil): throw incomplete("\(path)/last")
    }
  }

  private static func incomplete(_ field: String) -> Problem {
    .missingField(
      field, "first and last come together.",
      fix: "Give the lowest and the highest number that the device has, or neither.")
  }

  private static func number(
    _ value: JSONValue, _ field: String, _ range: ClosedRange<Int64>
  ) throws(Problem) -> Int64 {
    guard let number = value.wholeNumber, range.contains(number) else {
      throw .invalidField(
        field,
        "Here stands \(value.shown); it has to be a whole number from \(range.lowerBound) to "
          + "\(range.upperBound).")
    }
    return number
  }

  private static func name(_ value: JSONValue, _ field: String) throws(Problem) -> String {
    guard let name = try? value.string(), NameSyntax.isName(Array(name.utf8)[...]) else {
      throw .invalidField(field, "Here stands \(value.shown); it has to be \(NameSyntax.rule).")
    }
    return name
  }

  private static func since(_ value: JSONValue) throws(Problem) -> EndingNumber {
    guard let text = try? value.string(), let number = SequenceSyntax.parse(Array(text.utf8)[...])
    else {
      throw .invalidField(
        "/since", "since is \(value.shown); it has to be what the last answer gave as since.",
        fix: "Leave it out the first time.")
    }
    return number
  }
}
