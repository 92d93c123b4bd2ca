import RelayCore
import RelayServer
import Testing

@Suite("A fingerprint")
struct FingerprintTests {
  private static let base = #""client":"c","key":"k","path":"/a","body":"b""#

  private func print(_ members: String) throws -> [UInt8] {
    try Fixture.decode("{\(members)}").fingerprint
  }

  @Test(
    "is the same for what means the same",
    arguments: [
      base, #""body":"b","path":"/a","key":"k","client":"c""#, base + #","method":"POST""#,
      base + #","upstream":"default","lane":"default","hold":false"#,
      #""client":"c","key":"k","path":"\u002fa","body":"\u0062""#,
      base + #","headers":{"content-type":"text/plain; charset=utf-8"}"#,
    ])
  func same(_ members: String) throws {
    #expect(try print(members) == print(Self.base))
  }

  /// These are in the stores of those who have upgraded since.
  ///
  /// Something new changes only the digests of posts that say it: give it a version of its own, as
  /// ``Fingerprint`` does.
  @Test(
    "is for good: what was posted before is a repeat after an upgrade too",
    arguments: [
      (base, "6205f2df7a1ce69dc0918b6ee524fe277414e4008b1d5a51ff99ac7ee2ecf1a1"),
      (
        base + #","sequence":7,"tag":"t","hold":true,"onFailure":"block""#,
        "ba8a1858897f1d30816031469d8c9fd17af974c81f50544568bf9f8f64eec1e1"
      ),
      (
        base + #","coalesce":"position""#,
        "c8e0802a85c5a71e31f1b7783232ade266bebdfa7c8e971649fdeb4fb5e9ccd4"
      ),
    ])
  func forGood(_ members: String, _ digest: String) throws {
    let found = Hexadecimal.encode(try print(members))
    #expect(found == digest)
  }

  @Test("does not depend on the order of fields of different names, but on that of one name")
  func headerOrder() throws {
    let one = try print(Self.base + #","headers":{"A":["1","2"],"B":"3"}"#)
    #expect(try print(Self.base + #","headers":{"b":"3","a":["1","2"]}"#) == one)
    #expect(try print(Self.base + #","headers":{"A":["2","1"],"B":"3"}"#) != one)
  }

  @Test("does not depend on the trace that a post belongs to")
  func trace() throws {
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    for parent in ["00f067aa0ba902b7", "00f067aa0ba902b8"] {
      let headers = #"{"TraceParent":"00-\#(trace)-\#(parent)-01","tracestate":"a=\#(parent)"}"#
      #expect(try print(Self.base + #","headers":"# + headers) == print(Self.base))
    }
  }

  @Test("does not depend on when the envelope is posted")
  func time() throws {
    let rules = AcceptanceRules(try Fixture.configuration())
    let text = Array("{\(Self.base)}".utf8)
    let later = try EnvelopeDecoder(rules).decode(
      text, at: ArrivalTime(Fixture.now.adding(milliseconds: 1)))
    #expect(try later.fingerprint == print(Self.base))
  }

  @Test("differs wherever anything differs")
  func different() throws {
    let variants = [
      Self.base, #""client":"d","key":"k","path":"/a","body":"b""#,
      #""client":"c","key":"k","path":"/b","body":"b""#,
      #""client":"c","key":"k","path":"/a","body":"c""#,
      #""client":"c","key":"k","path":"/ab","body":"""#, #""client":"c","key":"k","path":"/a""#,
      #""client":"c","key":"k","path":"/a","bodyBase64":"Yg==""#,
      Self.base + #","upstream":"billing""#, Self.base + #","method":"PUT""#,
      Self.base + #","lane":"l""#, Self.base + #","tag":"t""#, Self.base + #","tag":"l""#,
      Self.base + #","sequence":1"#, Self.base + #","hold":true"#,
      Self.base + #","notBefore":"2026-03-01T12:00:00Z""#,
      Self.base + #","expiresAt":"2026-03-01T12:00:00Z""#, Self.base + #","onFailure":"skip""#,
      Self.base + #","onFailure":"block""#, Self.base + #","headers":{"A":"1"}"#,
      Self.base + #","headers":{"A":"1","B":""}"#, Self.base + #","headers":{"A":"1B"}"#,
    ]
    #expect(Set(try variants.map(print)).count == variants.count)
  }

  @Test("is the same for a body that comes in pieces")
  func pieces() throws {
    let decoded = try Fixture.relay("/v1/relay/default/a", ["Idempotency-Key: k"])
    var whole = decoded.fingerprint()
    whole.update(Array("abc".utf8))
    var parts = decoded.fingerprint()
    for byte in "abc".utf8 { parts.update([byte]) }
    let one = whole.finish()
    let other = parts.finish()
    #expect(one == other)
  }
}
