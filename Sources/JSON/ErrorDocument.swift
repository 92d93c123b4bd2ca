/// What an upstream says of a mistake, in the document with which it refuses a request.
///
/// That is a problem document (RFC 9457), or any other document in JSON.
package struct ErrorDocument: Sendable, Equatable {
  /// What the upstream calls the mistake, by which people and programs can look it up.
  ///
  /// The member `errorId`; else a problem document's `type`, unless that is `about:blank`, which
  /// says no more than the status does (RFC 9457 section 4.2.1). What else is called `type` in
  /// JSON may be anything.
  package let id: String?
  /// What it says to people: the first of the members `detail`, `message` and `title`, in one
  /// line, and cut if it is long.
  package let words: String?

  /// The most bytes of an id that is shown.
  package static let idBytesMax = 256
  /// The most bytes of the words that are shown.
  package static let wordsBytesMax = 512

  /// Reads a whole body; nil if it says nothing of a mistake.
  package init?(_ body: [UInt8], contentType: String) {
    let mediaType = Self.mediaType(contentType)
    guard mediaType == "application/json" || mediaType.hasSuffix("+json"),
      body.count <= JSONLimits.textBytesMax, let value = try? JSONValue.parse(body),
      let object = try? value.object()
    else { return nil }
    var id = Self.id(object["errorId"])
    if id == nil, mediaType == "application/problem+json", let type = Self.id(object["type"]) {
      id = type == "about:blank" ? nil : type
    }
    self.id = id
    words =
      [object["detail"], object["message"], object["title"]].lazy.compactMap(Self.words).first
    if id == nil, words == nil { return nil }
  }

  private static func mediaType(_ contentType: String) -> String {
    contentType.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }.lowercased()
  }

  private static func id(_ value: JSONValue?) -> String? {
    guard let text = try? value?.string(), !text.isEmpty, text.utf8.count <= idBytesMax else {
      return nil
    }
    return text
  }

  private static func words(_ value: JSONValue?) -> String? {
    guard let text = try? value?.string() else { return nil }
    var words = String.UnicodeScalarView()
    var count = 0
    for scalar in text.unicodeScalars where count <= wordsBytesMax {
      let isSpace = scalar.properties.isWhitespace || scalar.value < 0x20 || scalar.value == 0x7F
      if isSpace, words.isEmpty || words.last == " " { continue }
      words.append(isSpace ? " " : scalar)
      count += isSpace ? 1 : UTF8.width(scalar)
    }
    if count > wordsBytesMax {
      while count > wordsBytesMax - 3, let last = words.popLast() { count -= UTF8.width(last) }
      return String(words) + "…"
    }
    if words.last == " " { words.removeLast() }
    return words.isEmpty ? nil : String(words)
  }
}

extension JSONWriter {
  /// Writes what an upstream says of a mistake, as members of the object that was begun.
  package mutating func members(_ error: ErrorDocument) {
    if let id = error.id { member("errorId", id) }
    if let words = error.words { member("errorMessage", words) }
  }
}
