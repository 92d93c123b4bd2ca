import Foundation
import RelayCore
import Testing

@testable import Forwarder

@Suite("Credentials in answers", .timeLimit(.minutes(5)))
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
      #"%733cret%2fv%61lue"#, #"s3cret%2Fvalue"#, #"s\u0033cret%2fvalue"#,
    ])
  func numbers(text: String) {
    let stars = String(repeating: "*", count: text.utf8.count)
    #expect(
      mask.masked(#"{"a\u0041":"\u0020\#(text)\u0020"}"#) == #"{"a\u0041":"\u0020\#(stars)\u0020"}"#
    )
    #expect(mask.masked(#"\u00"#) == #"\u00"#)
  }

  @Test(
    "characters that are not ASCII are found as JSON and URLs escape them",
    arguments: [
      #"Pa/ss+w\u00F6rd-😀"#, "Pa/ss%2Bw%C3%B6rd-%F0%9F%98%80", "Pa%2fss%2bw%c3%b6rd-😀",
      #"Pa\/ss+w\u00f6rd-\ud83d\uDE00"#,
    ])
  func notASCII(text: String) {
    let mask = CredentialMask(["Pa/ss+wörd-😀"])
    #expect(mask.masked("<\(text)>") == "<" + String(repeating: "*", count: text.utf8.count) + ">")
  }

  @Test("a credential that looks like an escape is found as it is")
  func likeAnEscape() {
    let mask = CredentialMask([#"a%41\u0041"b\\c"#])
    #expect(mask.masked(#"a%41\u0041"b\\c"#).allSatisfy { $0 == "*" })
    #expect(mask.masked(#"a%2541\\u0041\"b\\\\c"#).allSatisfy { $0 == "*" })
  }

  @Test("credentials that overlap are overwritten to the end of the last one")
  func overlapping() {
    let mask = CredentialMask(["abcdabcd", "cdabcdef"])
    for text in [#"\u0061bcdabcd"#, #"\u0061bcdabc\u0064abc\u0064"#, #"abcd\u0061bcdef"#] {
      #expect(mask.masked(text).allSatisfy { $0 == "*" }, "\(text)")
    }
    #expect(mask.masked(#"\u0061bcdabc"#) == #"\u0061bcdabc"#)
  }

  /// A text of few letters, in which a credential of the same letters nearly stands everywhere.
  private static func text(_ count: Int, _ random: inout SplitMix64) -> [UInt8] {
    (0..<count).map { _ in Bool.random(using: &random) ? UInt8(ascii: "a") : UInt8(ascii: "b") }
  }

  @Test("every occurrence is found, and nothing else, also of texts that repeat themselves")
  func everyOccurrence() {
    var random = SplitMix64(seed: 1)
    for _ in 0..<500 {
      let credential = Self.text(Int.random(in: 8...10, using: &random), &random)
      let text = Self.text(Int.random(in: 0...600, using: &random), &random)
      var expected = text
      for start in text.indices.dropLast(credential.count - 1)
      where text[start..<(start + credential.count)].elementsEqual(credential) {
        for place in start..<(start + credential.count) { expected[place] = UInt8(ascii: "*") }
      }
      let mask = CredentialMask([String(decoding: credential, as: UTF8.self)])
      let plain = String(decoding: text, as: UTF8.self)
      #expect(mask.masked(plain) == String(decoding: expected, as: UTF8.self))
      // Some characters as numbers.
      var (escaped, shown): ([UInt8], [UInt8]) = ([], [])
      for (byte, seen) in zip(text, expected) {
        let isNumber = Bool.random(using: &random)
        let written = isNumber ? Array("\\u00\(String(byte, radix: 16))".utf8) : [byte]
        escaped += written
        shown += seen == byte ? written : written.map { _ in seen }
      }
      #expect(
        mask.masked(String(decoding: escaped, as: UTF8.self))
          == String(decoding: shown, as: UTF8.self))
    }
  }

  @Test("what stands before a place is known of all credentials at once")
  func search() {
    let search = CredentialSearch(["aaaaaaab", "aab", "xaaaaaaac"].map { Array($0.utf8) })
    var state = CredentialSearch.start
    var (counts, found): ([Int], [Int]) = ([], [])
    for byte in "aaaaaaaaabxaaaaaaabaac".utf8 {
      state = search.next(state, byte)
      counts.append(search.count(state))
      found.append(search.found(state))
    }
    #expect(counts == [1, 2, 3, 4, 5, 6, 7, 7, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8, 8, 1, 2, 0])
    #expect(found.enumerated().filter { $0.element > 0 }.map(\.offset) == [9, 18])
    #expect(found[9] == 8 && found[18] == 8)
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

  @Test("so is the beginning of one that is escaped, wherever it was cut")
  func cutEscapes() {
    let mask = CredentialMask(["s3cret/value-😀"])
    for escape in [
      #"\u0073\u0033\u0063\u0072\u0065\u0074\u002f\u0076"#, "%73%33%63%72%65%74%2F%76",
      #"s3cret/value-\ud83d\ude0"#,
    ] {
      for count in 24...escape.utf8.count {
        let body = Array("body ".utf8) + escape.utf8.prefix(count)
        let response = UpstreamResponse(
          status: 200, headers: HeaderBlock(), body: body, isTruncated: true)
        let stars = [UInt8](repeating: UInt8(ascii: "*"), count: count)
        #expect(mask.masked(response).body == Array("body ".utf8) + stars, "\(escape), \(count)")
      }
    }
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
