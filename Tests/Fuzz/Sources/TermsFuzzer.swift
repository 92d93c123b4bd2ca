import HTTPServer
import JSON
import RelayCore

@testable import RelayServer

/// The small things that calls come with: bodies that steer, queries, cursors, ids, dates, base64.
enum TermsFuzzer {
  static func run(_ bytes: [UInt8]) {
    guard let kind = bytes.first else { return }
    let text = Array(bytes.dropFirst())
    switch kind % 12 {
    case 0: body { () throws(Problem) in _ = try EnvelopePatch(text, EnvelopeFuzzer.rules) }
    case 1: body { () throws(Problem) in _ = try RunTerms(text) }
    case 2: body { () throws(Problem) in _ = try FateQuestion(text) }
    case 3: body { () throws(Problem) in _ = try CheckInQuestion(text) }
    case 4: body { () throws(Problem) in _ = try Resolution(text) }
    case 5: body { () throws(Problem) in _ = try RequeueTerms(text) }
    case 6: query(text)
    case 7: ids(String(decoding: text, as: UTF8.self))
    case 8: dates(text)
    case 9: base64(text)
    case 10: _ = Preferences([text[...]])
    default: url(String(decoding: text, as: UTF8.self))
    }
  }

  private static func body(_ read: () throws(Problem) -> Void) {
    do throws(Problem) { try read() } catch { ProblemCheck.check(error) }
  }

  private static func query(_ text: [UInt8]) {
    body { () throws(Problem) in
      let parameters = try ListParameters(text[...])
      let cursor = parameters.cursor(behind: 7)
      expectSame(ListCursor(parsing: cursor.text), cursor, "a cursor that is read back")
      expectHolds((1...ListParameters.limitMax).contains(parameters.limit), "a limit in range")
    }
    let head = Array("GET /v1/events?".utf8) + text + Array(" HTTP/1.1\r\nHost: h\r\n\r\n".utf8)
    guard let request = HTTPRequest(parsing: head) else { return }
    body { () throws(Problem) in _ = try EventParameters(request.head) }
  }

  private static func ids(_ text: String) {
    if let id = EventID(parsing: text) {
      expectSame(EventID(parsing: id.description), id, "an event's id that is read back")
    }
    if let id = EnvelopeID(parsing: text) {
      expectSame(EnvelopeID(parsing: id.description), id, "an envelope's id that is read back")
    }
    if let cursor = ListCursor(parsing: text) {
      expectSame(cursor.text, text, "a cursor that is written back")
    }
  }

  private static func dates(_ text: [UInt8]) {
    if let time = RFC3339.parse(text) {
      expectSame(RFC3339.parse(RFC3339.bytes(of: time)), time, "a time that is read back")
    }
    if let time = HTTPDate.parse(text, now: EnvelopeFuzzer.now.time) {
      let again = HTTPDate.parse(HTTPDate.bytes(of: time), now: EnvelopeFuzzer.now.time)
      expectSame(again, time, "a date that is read back")
    }
  }

  private static func base64(_ text: [UInt8]) {
    let encoded = Base64.encode(text)
    guard let decoded = try? Base64.decode(encoded) else {
      fatalError("base64 cannot be read back")
    }
    expectSame(decoded, text, "base64 that is read back")
    if let bytes = try? Base64.decode(text) {
      expectSame(Base64.encode(bytes), text, "base64 has one form for each body")
    }
  }

  private static func url(_ text: String) {
    guard let url = try? UpstreamURL(text) else { return }
    expectSame(try? UpstreamURL(url.description), url, "an upstream's URL that is read back")
  }
}
