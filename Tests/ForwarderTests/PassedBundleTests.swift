import RelayCore
import Testing

@testable import Forwarder

@Suite("requests that one relay passes on to another one together")
struct PassedBundleTests {
  private func request(_ target: String, body: String) -> PassedRequest {
    var fields = HeaderBlock()
    fields.append(name: "Host", value: "relay")
    return PassedRequest(
      method: "POST", target: Array(target.utf8), fields: fields, body: .whole(Array(body.utf8)),
      goesWithOthers: true)
  }

  private func answers(_ text: String) -> [(Int, [String], String)] {
    PassedBundle.answers(in: Array(text.utf8)).map { answer in
      let names = answer.head.fields.map { String(decoding: $0.name, as: UTF8.self) }
      return (answer.head.status, names, String(decoding: answer.body, as: UTF8.self))
    }
  }

  @Test("they are messages one after another, each with its length")
  func requests() {
    let requests = [request("/v1/envelopes", body: "{}"), request("/v1/relay/a/b", body: "")]
    let body = PassedBundle.body(of: requests)
    #expect(
      String(decoding: body, as: UTF8.self) == """
        POST /v1/envelopes HTTP/1.1\r
        Host: relay\r
        Content-Length: 2\r
        \r
        {}POST /v1/relay/a/b HTTP/1.1\r
        Host: relay\r
        Content-Length: 0\r
        \r\n
        """)
    #expect(requests.reduce(0) { $0 + PassedBundle.byteCount(of: $1) } >= body.count)
  }

  @Test("answers are read in their order, with their fields and bodies")
  func read() {
    let read = answers(
      "HTTP/1.1 202 Accepted\r\nLocation: /x\r\nContent-Length: 3\r\n\r\nabc"
        + "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"
        + "HTTP/1.1 503 \r\nRetry-After: 1\r\nContent-Length: 2\r\n\r\n\r\n")
    #expect(read.map(\.0) == [202, 400, 503])
    #expect(read.map(\.1).first?.contains("Location") == true)
    #expect(read.map(\.2) == ["abc", "", "\r\n"])
  }

  @Test(
    "what is cut off or no answer ends the reading, and what came before counts",
    arguments: [
      "HTTP/1.1 202 Accepted\r\nContent-Length: 9\r\n\r\nshort", "HTTP/1.1 202 Acc",
      "HTTP/1.1 202 Accepted\r\nContent-Length: 9", "HTTP/1.1 202 Accepted\r\n\r\nno length",
      "HTTP/1.1 99 No\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "\r\n", "\u{0}",
      "HTTP/1.1 202 Accepted\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
      "HTTP/1.1 202 Accepted\r\nContent-Length: 99999999999999999999\r\n\r\nab",
    ])
  func cutOff(_ rest: String) {
    let first = "HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\nok"
    #expect(answers(first + rest).map(\.2) == ["ok"])
    #expect(answers(rest).isEmpty)
  }
}
