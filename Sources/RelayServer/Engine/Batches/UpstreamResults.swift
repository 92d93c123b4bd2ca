import JSON
import RelayCore

/// What an upstream's answer with 2xx says of each of several envelopes.
///
/// Results are an array, or the `items` of an object, or lines, with one element for each envelope
/// in its order. An element is a status, or an object with a `status`, or an object whose only
/// member is such an object. For one envelope such an element alone will do.
enum UpstreamResults {
  /// One envelope's.
  typealias Result = (status: Int, value: JSONValue)

  /// Nothing.
  case none
  /// JSON without any status.
  case withoutStatus
  /// These; at least one.
  case some([Result])
  /// Something that cannot be read; the reason is a sentence's part.
  case unreadable(String)
  /// Results that do not fit the envelopes; the reason is a sentence's part.
  case unfitting(String)

  /// Reads an answer.
  ///
  /// No more is read than so many results need, whatever an upstream sends.
  ///
  /// - Parameters:
  ///   - count: The number of envelopes.
  ///   - unpackedBytesMax: The most bytes that may be made of a body that is packed.
  init(_ response: UpstreamResponse, count: Int, unpackedBytesMax: Int) {
    guard !response.body.isEmpty else {
      self = .none
      return
    }
    guard let body = response.uncodedBody(bytesMax: unpackedBytesMax) else {
      self = .unreadable(response.codingWords(bytesMax: unpackedBytesMax) ?? "")
      return
    }
    // A byte order mark may be ignored (RFC 8259 section 8.1).
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    let text = Array(body.dropFirst(body.starts(with: mark) ? mark.count : 0))
    switch text.first(where: { $0 > 0x20 }) {
    case UInt8(ascii: "["), UInt8(ascii: "{"):
      self =
        response.isTruncated
        ? .unreadable("answered more than \(response.body.count) bytes")
        : Self.read(text, count) ?? .unreadable("answered \(response.status) with malformed JSON")
    case .some(UInt8(ascii: "1")...UInt8(ascii: "9")): self = Self.read(text, count) ?? .none
    default: self = .none
    }
  }

  /// nil if the text is no JSON, nor lines of it.
  private static func read(_ text: [UInt8], _ count: Int) -> UpstreamResults? {
    guard let value = try? JSONValue.parse(text) else { return readLines(text, count) }
    if let list = (try? value.array()) ?? value["items"].flatMap({ try? $0.array() }) {
      return read(Array(list.prefix(count + 1)), count)
    }
    guard let result = status(of: value), count == 1 || !(200..<300).contains(result) else {
      return .withoutStatus
    }
    return .some([(result, value)])
  }

  private static func readLines(_ text: [UInt8], _ count: Int) -> UpstreamResults? {
    var elements: [JSONValue] = []
    // What follows is left in one piece, and is not looked at.
    let lines = text.split(maxSplits: count + 1, whereSeparator: { $0 == 0x0A || $0 == 0x0D })
    for line in lines.prefix(count + 1) {
      guard let element = try? JSONValue.parse(Array(line)) else { return nil }
      elements.append(element)
    }
    return read(elements, count)
  }

  private static func read(_ elements: [JSONValue], _ count: Int) -> UpstreamResults {
    let found = elements.compactMap { element in
      status(of: element).map { (status: $0, value: element) }
    }
    guard !found.isEmpty else {
      // Numbers that mean something else there could as well be refusals.
      return elements.contains { $0["status"]?.statusNumber != nil || $0.isNearlyStatus }
        ? .unfitting("answered results whose status is none of HTTP's") : .withoutStatus
    }
    guard elements.count <= count else {
      return .unfitting("answered more results than the \(count) envelopes")
    }
    guard found.count == elements.count else {
      return .unfitting("answered a status for \(found.count) of \(elements.count) envelopes")
    }
    return .some(found)
  }

  private static func status(of element: JSONValue) -> Int? {
    if element.statusNumber != nil { return element.status }
    if let status = element["status"]?.status { return status }
    // Two show that it is not the only one.
    guard let members = (try? element.object()).map({ Array($0.prefix(2)) }), members.count == 1
    else { return nil }
    return members[0].value["status"]?.status
  }
}

extension JSONValue {
  /// A number, also one that is written as a text.
  var statusNumber: Int64? { wholeNumber ?? (try? string()).flatMap { Int64($0) } }

  /// Whether it is a number of the length of a status, or 0, that is none.
  ///
  /// A number of another length may be the name of something that was made.
  fileprivate var isNearlyStatus: Bool {
    statusNumber.map { $0 == 0 || (100...999).contains($0) } ?? false && status == nil
  }

  /// A status of HTTP; nil if it is anything else.
  var status: Int? {
    guard let number = statusNumber, StatusSet.codes.contains(Int(clamping: number)) else {
      return nil
    }
    return Int(number)
  }
}
