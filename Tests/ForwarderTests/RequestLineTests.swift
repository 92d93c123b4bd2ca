import Forwarder
import RelayCore
import Testing

@Suite("What may stand in a request line")
struct RequestLineTests {
  @Test(
    "odd targets may",
    arguments: ["/", "/a//b", "/a/...", "/?%zz%00&&=../", "/?a=b?c", "/;x=[1]{2}|"])
  func sound(target: String) {
    #expect(fault("GET", target) == nil)
  }

  @Test(
    "what would end the line or the target may not",
    arguments: [
      "", "x", "http://x/", "*", "/a b", "/a\r\nB: c", "/a\u{0}", "/a\u{7F}", "//x", "/a/../b",
    ])
  func unsound(target: String) {
    #expect(fault("GET", target) != nil)
  }

  @Test(
    "a method is a token, and asks for no tunnel and no echo",
    arguments: ["", "GE T", "G:", "CONNECT", "connect", "TRACE", "Trace", "TRACK", "G\r\n"])
  func badMethod(method: String) {
    #expect(fault(method, "/") != nil)
  }

  @Test("a method of one's own is as good", arguments: ["BREW", "m-search", "!#$%&'*+-.^_`|~0"])
  func ownMethod(method: String) {
    #expect(fault(method, "/") == nil)
  }

  private func fault(_ method: String, _ target: String) -> String? {
    RequestLineCheck.fault(
      in: EnvelopeContent(
        method: method, target: Array(target.utf8), headers: HeaderBlock(), body: .inline([])))
  }
}
