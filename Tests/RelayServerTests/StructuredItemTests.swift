import RelayServer
import Testing

@Suite("Structured fields of uploads")
struct StructuredItemTests {
  private func bytes(_ text: String) -> ArraySlice<UInt8> { Array(text.utf8)[...] }

  @Test(
    "a Boolean is ?0 or ?1, and anything else is nothing",
    arguments: [
      ("?0", false), ("?1", true), ("?1;a=b", true), (" ?0 ", false), ("1", nil), ("true", nil),
      ("?2", nil), ("?10", nil), ("", nil),
    ] as [(String, Bool?)])
  func boolean(text: String, value: Bool?) {
    #expect(StructuredItem.boolean([bytes(text)]) == value)
  }

  @Test(
    "an Integer has a sign or none, and at most 15 digits; anything else is nothing",
    arguments: [
      ("0", 0), ("007", 7), ("999999999999999", 999_999_999_999_999), ("5;x", 5),
      ("-1", -1), ("-0", 0), ("-999999999999999", -999_999_999_999_999), (" 5 ", 5),
      ("1000000000000000", nil), ("1.0", nil), ("\"1\"", nil), ("", nil), ("1 2", nil),
      ("-", nil), ("--1", nil), ("+1", nil), ("1, 1", nil),
    ] as [(String, Int64?)])
  func integer(text: String, value: Int64?) {
    #expect(StructuredItem.integer([bytes(text)]) == value)
  }

  @Test("what stands in several lines is a list, and no item")
  func lists() {
    #expect(StructuredItem.boolean([bytes("?0"), bytes("?0")]) == nil)
    #expect(StructuredItem.integer([bytes("1"), bytes("1")]) == nil)
    #expect(StructuredItem.boolean([]) == nil && StructuredItem.integer([]) == nil)
  }

  @Test("the bytes of a key are found among others, the last one where it stands twice")
  func byteSequences() {
    func found(_ fields: String...) -> [UInt8]?? {
      StructuredItem.byteSequence("sha-256", in: fields.map { bytes($0) })
    }
    #expect(found("sha-256=:AQI=:") == .some([1, 2]))
    #expect(found("sha-512=:AA==:, sha-256=:AQI=:;q=1") == .some([1, 2]))
    #expect(found("sha-512=:AA==:", "sha-256=:AQI=:") == .some([1, 2]))
    #expect(found("sha-256=:AA==:,sha-256=:AQI=:") == .some([1, 2]))
    #expect(found("sha-512=:AA==:") == .none && found() == .none)
    #expect(found("") == .none && found("sha-512=:AA==:;q=1 , md5=:AA==:") == .none)
  }

  @Test(
    "a field that is no dictionary of byte sequences is told from one without the key",
    arguments: [
      "sha-256=AQI=", "sha-256=:AQ:", "x", "SHA-256=:AQI=:", "sha-512=AA", "sha-256=:AQI=:,",
      "=:AQI=:", "sha-256=:AQI=:, junk", "9=:AQI=:", "sha-256=:AQI=: :",
    ])
  func noDictionary(text: String) {
    #expect(StructuredItem.byteSequence("sha-256", in: [bytes(text)]) == .some(nil))
  }
}
