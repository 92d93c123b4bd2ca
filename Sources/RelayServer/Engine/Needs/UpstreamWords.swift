import JSON
import RelayCore

/// What an upstream said of an envelope, in a few words.
enum UpstreamWords {
  /// The members of a JSON answer that usually say it, the most telling first.
  private static let members: [StaticString] = ["detail", "title", "message", "error", "reason"]

  /// The most bytes of an answer that are looked through.
  private static let bodyBytesMax = 16_384

  /// The words of an answer: a member of a JSON object, else the first line of a text; nil if there
  /// is neither.
  static func find(in answer: UpstreamResponse) -> String? {
    guard !answer.body.isEmpty, answer.body.count <= bodyBytesMax else { return nil }
    if let object = try? JSONValue.parse(answer.body).object() {
      for member in members {
        if let text = try? object[member]?.string(), let words = shortened(text) { return words }
      }
      return nil
    }
    guard let type = answer.headers.first("Content-Type"), type.hasPrefix("text/plain") else {
      return nil
    }
    return shortened(String(decoding: answer.body, as: UTF8.self))
  }

  /// The first line that says anything, without characters that do more than be displayed: it is
  /// shown among other words, on the page, in a terminal and in messages.
  private static func shortened(_ text: String) -> String? {
    let line = text.split(whereSeparator: \.isNewline).first ?? ""
    // Counted by scalars: any number of accents can stand on one letter.
    let shown = line.unicodeScalars.lazy.filter { !$0.isHostile }.prefix(NeedLimits.wordsMax)
    var words = String.UnicodeScalarView()
    words.append(contentsOf: shown)
    return words.allSatisfy(\.properties.isWhitespace) ? nil : String(words)
  }
}
