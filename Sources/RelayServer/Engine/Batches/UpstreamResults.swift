import JSON
import RelayCore

/// What an upstream's answer with 2xx says of each of several envelopes.
///
/// Results are an array, or the `items` of an object, or lines, with one element for each envelope
/// in its order. An element is a status, or an object with a `status`, or an object whose only
/// member is such an object.
enum UpstreamResults {
  /// One envelope's.
  typealias Result = (status: Int, value: JSONValue)

  /// Nothing.
  case none
  /// These; at least one.
  case some([Result])
  /// Something that cannot be read; the reason is a sentence's part.
  case unreadable(String)

  /// Reads an answer.
  init(_ response: UpstreamResponse) {
    guard !response.body.isEmpty else {
      self = .none
      return
    }
    if let encoding = response.headers.first("Content-Encoding"), encoding != "identity" {
      self = .unreadable("answered with Content-Encoding: \(encoding), which was not asked for")
      return
    }
    // A byte order mark may be ignored (RFC 8259 section 8.1).
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    let text = response.body.dropFirst(response.body.starts(with: mark) ? mark.count : 0)
    let first = text.first { $0 > 0x20 }
    guard first == UInt8(ascii: "[") || first == UInt8(ascii: "{") else {
      self = .none
      return
    }
    guard !response.isTruncated else {
      self = .unreadable("answered more than \(BatchAnswer.bytesMax) bytes")
      return
    }
    self = Self.read(Array(text), status: response.status)
  }

  private static func read(_ text: [UInt8], status: Int) -> UpstreamResults {
    guard let value = try? JSONValue.parse(text) else {
      let lines = text.split { $0 == 0x0A || $0 == 0x0D }.map { try? JSONValue.parse(Array($0)) }
      guard !lines.contains(where: { $0 == nil }) else {
        return .unreadable("answered \(status) with malformed JSON")
      }
      return read(lines.compactMap(\.self))
    }
    if let list = (try? value.array()) ?? value["items"].flatMap({ try? $0.array() }) {
      return read(Array(list))
    }
    guard let result = Self.status(of: value), !(200..<300).contains(result) else { return .none }
    return .some([(result, value)])
  }

  private static func read(_ elements: [JSONValue]) -> UpstreamResults {
    let found = elements.compactMap { element in
      Self.status(of: element).map { (status: $0, value: element) }
    }
    guard !found.isEmpty else { return .none }
    guard found.count == elements.count else {
      return .unreadable("answered a status for \(found.count) of \(elements.count) envelopes")
    }
    return .some(found)
  }

  private static func status(of element: JSONValue) -> Int? {
    if let status = element.status ?? element["status"]?.status { return status }
    guard let members = (try? element.object()).map(Array.init), members.count == 1 else {
      return nil
    }
    return members[0].value["status"]?.status
  }
}

extension JSONValue {
  /// A status of HTTP; nil if it is anything else.
  var status: Int? {
    guard let number = wholeNumber, StatusSet.codes.contains(Int(clamping: number)) else {
      return nil
    }
    return Int(number)
  }
}
