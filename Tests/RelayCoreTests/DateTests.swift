import RelayCore
import Testing

private func at(_ milliseconds: Int64) -> WallTime {
  WallTime(millisecondsSinceEpoch: milliseconds)
}

@Suite("RFC 3339 timestamps")
struct RFC3339Tests {
  static let accepted: [(String, Int64)] = [
    ("1970-01-01T00:00:00Z", 0),
    ("2026-01-02T03:04:05.678Z", 1_767_323_045_678),
    ("2026-01-02t03:04:05.678z", 1_767_323_045_678),
    ("2026-01-02 03:04:05.678Z", 1_767_323_045_678),
    ("2026-01-02T03:04:05.6789999Z", 1_767_323_045_678),
    ("2026-01-02T03:04:05.6Z", 1_767_323_045_600),
    ("2026-01-02T05:34:05.678+02:30", 1_767_323_045_678),
    ("2026-01-01T19:04:05.678-08:00", 1_767_323_045_678),
    ("2026-01-02T03:04:05.678-00:00", 1_767_323_045_678),
    ("2024-02-29T00:00:00Z", 1_709_164_800_000),
    ("2000-02-29T00:00:00Z", 951_782_400_000),
    ("1969-12-31T23:59:59.999Z", -1),
    ("2016-12-31T23:59:60Z", 1_483_228_800_000),
    ("2016-12-31T15:59:60-08:00", 1_483_228_800_000),
    ("0000-01-01T00:00:00Z", -62_167_219_200_000),
    ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
  ]

  @Test("a timestamp is read", arguments: accepted)
  func parse(text: String, milliseconds: Int64) {
    #expect(RFC3339.parse(text.utf8) == at(milliseconds))
  }

  static let refused = [
    "", "2026", "2026-01-02", "2026-01-02T03:04:05", "2026-01-02T03:04Z",
    "2026-02-30T00:00:00Z", "2025-02-29T00:00:00Z", "1900-02-29T00:00:00Z",
    "2026-00-01T00:00:00Z", "2026-13-01T00:00:00Z", "2026-04-31T00:00:00Z",
    "2026-01-00T00:00:00Z", "2026-01-32T00:00:00Z", "2026-01-01T24:00:00Z",
    "2026-01-01T00:60:00Z", "2026-01-01T00:00:61Z", "2026-01-01T12:00:60Z",
    "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00,5Z", "2026-01-01T00:00:00+0200",
    "2026-01-01T00:00:00+24:00", "2026-01-01T00:00:00+02:60", "2026-01-01T00:00:00Z ",
    " 2026-01-01T00:00:00Z", "26-01-01T00:00:00Z", "2026-1-1T00:00:00Z",
    "+2026-01-01T00:00:00Z", "2026-01-01X00:00:00Z", "２０２６-01-01T00:00:00Z",
  ]

  @Test("nonsense is refused", arguments: refused)
  func refuse(text: String) {
    #expect(RFC3339.parse(text.utf8) == nil)
  }

  @Test("a time is printed in UTC with milliseconds, and held at what can be written")
  func print() {
    #expect(RFC3339.format(at(0)) == "1970-01-01T00:00:00.000Z")
    #expect(RFC3339.format(at(1_767_323_045_678)) == "2026-01-02T03:04:05.678Z")
    #expect(RFC3339.format(at(-1)) == "1969-12-31T23:59:59.999Z")
    #expect(RFC3339.format(at(.max)) == "9999-12-31T23:59:59.999Z")
    #expect(RFC3339.format(at(.min)) == "0000-01-01T00:00:00.000Z")
  }

  @Test("every day of eight centuries survives printing and reading")
  func roundTrip() {
    let day: Int64 = 86_400_000
    for number in stride(from: Int64(-146_097), to: 146_097, by: 1) {
      let time = at(number * day + 45_296_789)
      #expect(RFC3339.parse(RFC3339.bytes(of: time)) == time)
    }
  }
}

@Suite("HTTP dates")
struct HTTPDateTests {
  static let now = at(1_767_323_045_000)  // 2026-01-02

  static let accepted: [(String, Int64)] = [
    ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777_000),
    ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777_000),
    ("Sun Nov  6 08:49:37 1994", 784_111_777_000),
    ("Wed Nov 16 08:49:37 1994", 784_975_777_000),
    ("Saturday, 01-Jan-76 00:00:00 GMT", 3_345_062_400_000),
    ("Saturday, 01-Jan-77 00:00:00 GMT", 220_924_800_000),
    ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800_000),
  ]

  @Test("the three forms of RFC 9110 are read", arguments: accepted)
  func parse(text: String, milliseconds: Int64) {
    #expect(HTTPDate.parse(text.utf8, now: Self.now) == at(milliseconds))
  }

  static let refused = [
    "", "0", "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 UTC",
    "Sun, 06 Nov 1994 08:49:37", "sun, 06 nov 1994 08:49:37 gmt", "Sun, 31 Feb 1994 08:49:37 GMT",
    "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, 06 Nov 94 08:49:37 GMT",
    "Sunday, 06-Nov-1994 08:49:37 GMT", "Sun Nov 06 08:49:37 1994 GMT",
    "Sun, 06 Nov 1994 08:49:37 GMT ", "2026-01-02T03:04:05Z",
  ]

  @Test("nonsense is refused", arguments: refused)
  func refuse(text: String) {
    #expect(HTTPDate.parse(text.utf8, now: Self.now) == nil)
  }

  @Test("a time is printed as an IMF-fixdate")
  func print() {
    #expect(HTTPDate.format(at(784_111_777_999)) == "Sun, 06 Nov 1994 08:49:37 GMT")
    #expect(HTTPDate.format(at(0)) == "Thu, 01 Jan 1970 00:00:00 GMT")
    #expect(HTTPDate.format(at(-1)) == "Wed, 31 Dec 1969 23:59:59 GMT")
    #expect(HTTPDate.bytes(of: at(0)).count == HTTPDate.formattedBytes)
  }
}
