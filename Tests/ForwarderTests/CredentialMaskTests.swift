import Forwarder
import Foundation
import RelayCore
import Testing

@Suite("Credentials in answers", .timeLimit(.minutes(1)))
struct CredentialMaskTests {
  private let mask = CredentialMask(["s3cret/value", "s3cret/value-longer", "short"])

  @Test(
    "a credential becomes stars, wherever it stands",
    arguments: [
      ("s3cret/value", "************"),
      ("a s3cret/value b s3cret/value", "a ************ b ************"),
      ("xs3cret/value-longerx", "x*******************x"),
      (#"{"a":"s3cret\/value"}"#, #"{"a":"*************"}"#),
      ("k=s3cret%2Fvalue&", "k=**************&"), ("short s3cret/valu", "short s3cret/valu"),
      ("s3crets3cret/value", "s3cret************"), ("", ""),
    ])
  func masked(text: String, expected: String) {
    #expect(mask.masked(text) == expected)
    let response = UpstreamResponse(status: 200, headers: HeaderBlock(), body: Array(text.utf8))
    #expect(mask.masked(response).body == Array(expected.utf8))
  }

  @Test(
    "it is found as the usual writers of JSON escape it",
    arguments: [
      #"a\"b\\c&d<é/"#, #"a\"b\\c&d<é\/"#, #"a\"b\\c\u0026d\u003cé/"#, #"a\"b\\c&d<\u00e9/"#,
      #"a\"b\\c&d<\u00e9\/"#, #"a\u0022b\\c\u0026d\u003C\u00E9/"#,
    ])
  func escaped(text: String) {
    let mask = CredentialMask([#"a"b\c&d<é/"#])
    let stars = String(repeating: "*", count: text.utf8.count)
    #expect(mask.masked("{\"echo\": \"\(text)\"}") == "{\"echo\": \"\(stars)\"}")
  }

  @Test(
    "it is found in JSON whichever of its characters are written as numbers",
    arguments: [
      #"\u0073\u0033\u0063\u0072\u0065\u0074\u002F\u0076\u0061\u006c\u0075\u0065"#,
      #"s3cr\u0065t\/value"#, #"s3cret\u002fvalue"#,
    ])
  func numbers(text: String) {
    let stars = String(repeating: "*", count: text.utf8.count)
    #expect(
      mask.masked(#"{"a\u0041":"\u0020\#(text)\u0020"}"#) == #"{"a\u0041":"\u0020\#(stars)\u0020"}"#
    )
    #expect(mask.masked(#"\u00"#) == #"\u00"#)
  }

  @Test("credentials that overlap are overwritten to the end of the last one")
  func overlapping() {
    let mask = CredentialMask(["abcdabcd", "cdabcdef"])
    for text in [#"\u0061bcdabcd"#, #"\u0061bcdabc\u0064abc\u0064"#, #"abcd\u0061bcdef"#] {
      #expect(mask.masked(text).allSatisfy { $0 == "*" }, "\(text)")
    }
    #expect(mask.masked(#"\u0061bcdabc"#) == #"\u0061bcdabc"#)
  }

  /// The most memory that this process has had.
  private static func peakKiB() throws -> Int {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
    return try #require(line.split { !$0.isNumber }.first.flatMap { Int($0) })
  }

  @Test("looking for them in a large body takes no memory besides that of the body")
  func memory() async {
    await #expect(processExitsWith: .success) {
      let mask = CredentialMask(["s3cret/value"])
      let filler = String(repeating: "x", count: 4 << 20)
      let body = Array((filler + #"\u0073\u0033cret/value"#).utf8)
      let response = UpstreamResponse(status: 200, headers: HeaderBlock(), body: body)
      let before = try CredentialMaskTests.peakKiB()
      let masked = mask.masked(response).body
      let grown = try CredentialMaskTests.peakKiB() - before
      let isMasked = masked.suffix(22).allSatisfy { $0 == UInt8(ascii: "*") }
      // The answer without them is a copy of 4 MiB.
      exit(isMasked && grown < 12 << 10 ? 0 : 1)
    }
  }

  @Test("where a body was cut, so is a credential's beginning")
  func cut() {
    var response = UpstreamResponse(
      status: 200, headers: HeaderBlock(), body: Array("body s3cret/va".utf8), isTruncated: true)
    #expect(mask.masked(response).body == Array("body *********".utf8))
    response.isTruncated = false
    #expect(mask.masked(response).body == response.body)
  }

  @Test("fields lose it as well, and stay fields")
  func fields() {
    var headers = HeaderBlock()
    headers.append(name: "X-Echo", value: "Bearer s3cret/value")
    headers.append(name: "X-Other", value: "1")
    let response = UpstreamResponse(status: 200, headers: headers, body: [])
    #expect(
      mask.masked(response).headers.bytes
        == Array("X-Echo: Bearer ************\r\nX-Other: 1\r\n".utf8))
  }

  @Test("an upstream that sends back what it got does not tell the relay's credentials")
  func echo() async throws {
    var fixed = HeaderBlock()
    fixed.append(name: "Authorization", value: "Bearer hunter2-hunter2")
    let upstream = try RawUpstream { connection in
      while let request = connection.readRequest() {
        connection.send(
          "HTTP/1.1 200 OK\r\nX-Echo: \(request.values("authorization")[0])\r\n"
            + "Content-Length: \(request.head.count)\r\n\r\n")
        connection.send(request.head)
      }
    }
    let target = try UpstreamTarget(
      name: "default", url: UpstreamURL(upstream.url), headers: fixed,
      credentials: CredentialMask(["hunter2-hunter2"]))
    let response = try #require(try await Attempts().run(request(target)).response)
    #expect(response.headers.first("x-echo") == "Bearer ***************")
    let text = String(decoding: response.body, as: UTF8.self)
    #expect(text.contains("Authorization: Bearer ***************\r\n"))
    #expect(!text.contains("hunter2"))
  }
}
