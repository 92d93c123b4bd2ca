import RelayCore
import Testing

@Suite("What stays behind a base URL")
struct TargetSyntaxTests {
  @Test("a target that some server would read as leaving the base is refused", arguments: leaving)
  func refused(target: String) {
    #expect(refusal(Array(target.utf8)) != nil)
  }

  @Test("a target that no server would read so is fine, byte for byte", arguments: staying)
  func taken(target: String) {
    #expect(refusal(Array(target.utf8)) == nil)
  }

  @Test("no byte outside visible ASCII, no # and no backslash is taken, wherever it stands")
  func bytes() {
    for byte in UInt8.min...UInt8.max {
      let isTaken = (0x21...0x7E).contains(byte) && !"#\\".utf8.contains(byte)
      for target in [[0x2F, 0x61, byte, 0x61], [0x2F, 0x3F, byte, 0x61]] {
        // A % needs its digits in the path.
        if byte == 0x25, target[1] != 0x3F { continue }
        #expect((refusal(target) == nil) == isTaken, "\(target)")
      }
    }
  }

  @Test("every way to write two dots, and every way to write a slash, is refused with every other")
  func combinations() {
    var count = 0
    for first in Self.dots {
      for second in Self.dots {
        for end in Self.ends {
          #expect(
            refusal(Array("/a/\(first)\(second)\(end)".utf8)) != nil, "\(first)\(second)\(end)")
          count += 1
        }
      }
    }
    #expect(count == 1700)
  }

  @Test("a path that is encoded more often than anybody means is refused, and quickly")
  func depth() {
    #expect(refusal(Array("/%252525".utf8)) == nil)
    let deep = "/%" + String(repeating: "25", count: 4000) + "41"
    #expect(refusal(Array(deep.utf8))?.contains("times over") == true)
  }

  @Test("a path has a length")
  func length() {
    let longest = "/" + String(repeating: "a", count: TargetSyntax.bytesMax - 1)
    #expect(refusal(Array(longest.utf8)) == nil)
    #expect(refusal(Array((longest + "a").utf8)) != nil)
  }

  @Test(
    "a base URL and a verification's path are held to the same rules",
    arguments: ["/a/../b", "/a/%2e%2e", "/a/..;/b", "//evil.example", "/%zz", "/a/%c0%ae%c0%ae/"])
  func others(path: String) {
    #expect(throws: UpstreamURL.Refusal.self) { try UpstreamURL("http://x\(path)") }
    #expect(VerificationPath("\(path)/{id}") == nil)
  }

  @Test("a key that would leave the verification's path makes a target that is refused")
  func hostileKey() throws {
    let path = try #require(VerificationPath("/orders/{key}"))
    let id = EnvelopeID(serial: 1, acceptedAt: WallTime(millisecondsSinceEpoch: 0), random: 1)
    for key in [".", ".."] { #expect(refusal(path.target(id: id, key: key)) != nil) }
    for key in ["../x", "a/../b", "%2e%2e", "..%2fx", "@evil", "#", "?x=1", "\\..\\"] {
      let target = path.target(id: id, key: key)
      #expect(target.starts(with: Array("/orders/".utf8)))
      #expect(!target.dropFirst(8).contains(UInt8(ascii: "/")))
    }
  }

  private func refusal(_ target: [UInt8]) -> String? { TargetSyntax.refusal(of: target[...]) }

  /// Ways to write a dot: as it is, encoded once or more, in each letters' case, in overlong
  /// UTF-8, and as what a normalisation turns into one.
  private static let dots = [
    ".", "%2e", "%2E", "%252e", "%25252e", "%c0%ae", "%C0%2e", "%e0%80%ae", "%f0%80%80%ae",
    "%ef%bc%8e",
  ]
  /// What may end a segment: the path's end, ways to write a slash, and what some cut off.
  private static let ends = [
    "", "/x", "%2fx", "%2Fx", "%5cx", "%255cx", "%252fx", "%c0%afx", "%c1%9cx", "%e0%80%afx",
    "%ef%bc%8fx", "?x", ";x=1/y", "%3bx/y", "%00.png", "%20/x", "%09",
  ]

  private static let leaving = [
    // No path at all: absolute forms, an authority, an asterisk.
    "", "x", "*", "http://evil.example/", "https://evil.example", "evil.example:443",
    "@evil.example",
    "?x", ":80/x", "..", "%2e%2e/x", "\\\\evil.example\\x",
    // An authority where a path was meant.
    "//evil.example/x", "///x", "/%2fevil.example", "/%2Fevil.example", "/%5cevil.example",
    "/%252fevil.example", "/%09/evil.example", "/%c0%afevil.example", "/%ef%bc%8fevil.example",
    "//", "//user@evil.example",
    // More than one line, or more than a target.
    "/a b", "/a\tb", "/a\rb", "/a\nX: y", "/a\r\nX: y", "/a HTTP/1.1\r\nHost: evil", "/a\u{0}",
    "/a\u{7F}", "/a\u{85}", "/a\u{2028}", "/caf\u{E9}", "/a#b", "/a?b#c", "/a?b c", "/a?b\r\n",
    "/\\x",
    "/a\\..\\b", "/a?\\",
    // Dots as they are.
    "/.", "/..", "/./", "/../", "/a/.", "/a/..", "/a/./b", "/a/../b", "/a//../b", "/..?x", "/.?x",
    "/a/../../../etc/passwd", "/...//../x",
    // Encoded, doubly, mixed.
    "/%2e", "/%2e%2e", "/%2E%2e/x", "/.%2e/x", "/%2e./x", "/a/%2e%2e/b", "/%252e%252e/x",
    "/%25252e%25252e/x", "/%252e./x", "/%25%32%65%25%32%65/x", "/..%2fx", "/..%2Fx", "/a%2f..%2fb",
    "/..%5cx", "/..%255cx", "/..%252fx", "/%2e%2e%2f%2e%2e%2fx", "/%2e%2e%5c", "/a%5c..%5cb",
    // Parameters, ends of strings, and blanks that some servers drop.
    "/..;/x", "/..;a=b/x", "/.;/x", "/..%3b/x", "/..%3Bx/y", "/..%00/x", "/..%00", "/..%00x/y",
    "/..%20/x", "/%20../x", "/..%09/x", "/.%0a./x", "/..%0d%0a/x", "/..%3fx", "/..%23x",
    // Overlong UTF-8, loosely decoded UTF-8, and characters that are turned into dots or slashes.
    "/%c0%ae%c0%ae/x", "/%C0%AE./x", "/%c0%2e%c0%2e/x", "/%e0%80%ae%e0%80%ae/x",
    "/%f0%80%80%ae%f0%80%80%ae/x", "/%f8%80%80%80%ae%f8%80%80%80%ae/x", "/..%c0%afx", "/..%c1%9cx",
    "/..%e0%80%afx", "/%ef%bc%8e%ef%bc%8e/x", "/..%ef%bc%8fx", "/..%ef%bc%bcx", "/%e2%80%a5/x",
    "/%e2%80%a4%e2%80%a4/x", "/..%e2%88%95x", "/..%e2%81%84x", "/..%c2%a5x",
    // Escapes that are none.
    "/%", "/%2", "/a%zz", "/%u002e%u002e/x", "/%%32%65%%32%65/x", "/..%", "/%2g", "/%+2e",
  ]

  private static let staying = [
    "/", "/?", "/a", "/a/", "/a.b", "/.a", "/a.", "/..a", "/a..", "/...", "/a/.../b",
    "/.well-known/x",
    "/%2e%2ea", "/a//b", "/a/", "/a%2Fb", "/a%2f%2fb", "/a%5Cb", "/a%20b", "/caf%C3%A9", "/caf%E9",
    "/%E6%97%A5%E6%9C%AC", "/%F0%9F%98%80", "/@scope/package", "/user:name@host/x", "/a;x=1/b;y",
    "/;x", "/a:b", "/a,b", "/a?b=../c", "/a?x=/../", "/a?x=http://evil.example/", "/a?%zz%",
    "/a?x=%0d%0a",
    "/a?x=%00&y=%2e%2e/", "/a?b?c", "/a=b&c+d~e*(f)'g!$", "/a[1]{2}|^`<>\"", "/100%25", "/%2525",
    "/a%00b", "/http://evil.example/", "/a/%E2%80%A6/b", "/%C3%A9..", "/%C3..", "/.%E9./x",
    "/%c3%a9", "/%C3%A5..", "/%C3%A5.",
  ]
}
