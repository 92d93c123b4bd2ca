import RelayCore
import Testing

@Suite("Looking for text in text")
struct TextSearchTests {
  @Test("the first occurrence is found, at the end and at the beginning as well")
  func first() {
    let url = "https://relay.example://x"
    #expect(url.firstOccurrence(of: "://").map { url[..<$0.lowerBound] } == "https")
    #expect("abc".holds("abc") && "abc".holds("c") && "abc".holds("a") && "aab".holds("ab"))
    #expect(!"abc".holds("abcd") && !"".holds("a") && !"ab".holds("ba"))
    #expect("".holds("") && "a".holds(""))
  }

  @Test("bytes are compared, so that no letter is found in another one that is built on it")
  func bytes() {
    #expect("grüße".holds("üß") && !"grüße".holds("u"))
    #expect([UInt8]([1, 2, 1, 3]).firstOccurrence(of: [1, 3]) == 2..<4)
  }

  @Test("each occurrence is put another way, and none that comes of it once more")
  func each() {
    #expect("a_b__c".withEach("_", as: " ") == "a b  c")
    #expect("aaa".withEach("a", as: "aa") == "aaaaaa")
    #expect("aaa".withEach("aa", as: "b") == "ba" && "x".withEach("y", as: "z") == "x")
  }
}
