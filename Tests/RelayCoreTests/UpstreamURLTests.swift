import RelayCore
import Testing

@Suite("An upstream's base URL")
struct UpstreamURLTests {
  @Test(
    "is taken apart",
    arguments: [
      ("http://example.com", "http://example.com", ""),
      ("HTTPS://api.example.com/base/", "https://api.example.com", "/base"),
      ("http://[::1]:8080/a%20b/c", "http://[::1]:8080", "/a%20b/c"),
      ("http://127.0.0.1:1//", "http://127.0.0.1:1", ""),
    ])
  func takenApart(text: String, origin: String, path: String) throws {
    let url = try UpstreamURL(text)
    #expect(url.origin == origin)
    #expect(url.basePath == path)
  }

  @Test(
    "is refused where it could be read in two ways",
    arguments: [
      "", "example.com", "ftp://x", "http://", "http:///x", "http://a b", "http://x:0",
      "http://x:65536", "http://x:", "http://x:+1", "http://u:p@x", "http://x?q", "http://x/#f",
      "http://[::1", "http://[::1]x", "http://x\\y", "http://\u{E9}.com", "http://x%2e",
      "http://[]",
    ])
  func refused(text: String) {
    #expect(throws: UpstreamURL.Refusal.self) { try UpstreamURL(text) }
  }
}
