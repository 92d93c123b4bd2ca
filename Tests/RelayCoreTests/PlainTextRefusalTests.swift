import RelayCore
import Testing

@Suite("An answer to plain text where TLS is spoken")
struct PlainTextRefusalTests {
  private static let nginxWords = "The plain HTTP request was sent to HTTPS port"
  private static let goText = "Client sent an HTTP request to an HTTPS server.\n"

  private static let ownText = "This port speaks TLS: use https:// instead.\n"

  private static func page(_ words: String) -> String {
    "<html>\r\n<head><title>400 \(words)</title></head>\r\n<body>\r\n"
      + "<center><h1>400 Bad Request</h1></center>\r\n<center>\(words)</center>\r\n"
      + "<hr><center>nginx/1.22.1</center>\r\n</body>\r\n</html>\r\n"
  }

  /// What an answer is taken for.
  private static func words(
    _ body: String, status: Int = 400, server: String? = nil, type: String? = nil,
    fieldCount: Int? = nil
  ) -> String? {
    var headers = HeaderBlock()
    if let server { headers.append(name: "Server", value: server) }
    if let type { headers.append(name: "Content-Type", value: type) }
    let response = UpstreamResponse(status: status, headers: headers, body: Array(body.utf8))
    let count = fieldCount ?? headers.reduce(0) { count, _ in count + 1 }
    return PlainTextRefusal(response, fieldCount: count)?.words
  }

  private static func nginx(
    _ body: String, status: Int = 400, server: String = "nginx/1.22.1", type: String = "text/html"
  ) -> String? {
    words(body, status: status, server: server, type: type, fieldCount: 5)
  }

  @Test("nginx's page, Go's line and Waystation's own are known")
  func known() {
    #expect(Self.nginx(Self.page(Self.nginxWords)) == Self.nginxWords)
    #expect(Self.words(Self.goText) == "Client sent an HTTP request to an HTTPS server.")
    #expect(
      Self.words(Self.ownText, type: "text/plain", fieldCount: 3) == PlainTextRefusal.ownWords)
  }

  @Test("no other answer is: of another status or server, or one that only repeats the words")
  func others() {
    let page = Self.page(Self.nginxWords)
    let others = [
      Self.nginx(page, status: 403), Self.nginx(page, server: "Apache"),
      Self.nginx(page, type: "text/plain"), Self.nginx(page + "\n"),
      Self.nginx(Self.page("Bad Request")), Self.nginx(Self.nginxWords), Self.nginx(""),
      Self.words("you sent: " + Self.goText), Self.words(Self.goText, server: "Go"),
      // Fields that end at the relay, such as Content-Length.
      Self.words(Self.goText, fieldCount: 1), Self.words(Self.goText, status: 200),
      Self.words(Self.ownText), Self.words(Self.ownText, type: "text/plain"),
      Self.words(Self.ownText, type: "text/plain", fieldCount: 4),
      Self.words(Self.ownText, type: "text/html", fieldCount: 3),
      Self.words(Self.ownText + "x", type: "text/plain", fieldCount: 3),
    ]
    #expect(others.allSatisfy { $0 == nil }, "\(others)")
  }
}
