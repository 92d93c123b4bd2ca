import RelayCore
import Testing

@testable import RelayServer

@Suite("What an upstream says, in a few words")
struct UpstreamWordsTests {
  private static func words(_ body: String, type: String = "application/json") -> String? {
    var headers = HeaderBlock()
    headers.append(name: "Content-Type", value: type)
    return UpstreamWords.find(
      in: UpstreamResponse(status: 422, headers: headers, body: Array(body.utf8)))
  }

  @Test("the most telling member is taken, else the first line of a text, else nothing")
  func found() {
    #expect(Self.words(#"{"title": "Refused", "detail": "unknown account"}"#) == "unknown account")
    #expect(Self.words("no such depot\nline 7", type: "text/plain") == "no such depot")
    #expect(Self.words("<html>", type: "text/html") == nil)
    #expect(Self.words(#"{"detail": " ", "code": 7}"#) == nil)
  }

  @Test("nothing in them changes how a terminal, a page or a message shows what stands around them")
  func harmless() {
    let hostile = ["\\u001b", "\\u007f", "\\u009b", "\\u202e", "\\u2066", "\\u200b", "\\ufeff"]
    for text in hostile {
      #expect(Self.words(#"{"title": "un\#(text)known"}"#) == "unknown", "\(text)")
    }
    #expect(Self.words(#"{"title": "Größe zu groß: 5 €"}"#) == "Größe zu groß: 5 €")
  }

  @Test("they are cut at their limit, between characters")
  func short() {
    let words = Self.words(#"{"title": "\#(String(repeating: "ß", count: 5000))"}"#)
    #expect(words == String(repeating: "ß", count: NeedLimits.wordsMax))
    let accents = String(repeating: "\u{301}", count: 5000)
    #expect(Self.words(#"{"title": "e\#(accents)"}"#)?.unicodeScalars.count == NeedLimits.wordsMax)
  }
}
