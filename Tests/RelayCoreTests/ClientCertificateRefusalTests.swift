import RelayCore
import Testing

@Suite("nginx's answer to a client whose certificate it does not accept")
struct ClientCertificateRefusalTests {
  private static func page(_ words: String, attributes: String = "") -> String {
    "<html>\r\n<head><title>400 \(words)</title></head>\r\n<body\(attributes)>\r\n"
      + "<center><h1>400 Bad Request</h1></center>\r\n<center>\(words)</center>\r\n"
      + "<hr><center>nginx/1.22.1</center>\r\n</body>\r\n</html>\r\n"
  }

  private static func answer(
    _ body: String, status: Int = 400, server: String? = "nginx/1.22.1",
    type: String? = "text/html", isTruncated: Bool = false
  ) -> UpstreamResponse {
    var headers = HeaderBlock()
    if let server { headers.append(name: "server", value: server) }
    if let type { headers.append(name: "Content-Type", value: type) }
    return UpstreamResponse(
      status: status, headers: headers, body: Array(body.utf8), isTruncated: isTruncated)
  }

  @Test(
    "both of its pages are known, whatever the release says of itself",
    arguments: ["No required SSL certificate was sent", "The SSL certificate error"])
  func known(words: String) {
    // What nginx adds for some browsers.
    let padding = "<!-- a padding to disable MSIE and Chrome friendly error page -->\r\n"
    let pages = [
      page(words), page(words, attributes: " bgcolor=\"white\""),
      page(words) + String(repeating: padding, count: 6),
    ]
    for server in ["nginx", "nginx/1.22.1", "Nginx/1.9 (Ubuntu)"] {
      for page in pages {
        let page = page.replacing("nginx/1.22.1", with: server.lowercased())
        let refusal = ClientCertificateRefusal(
          Self.answer(page, server: server, type: "text/html; charset=utf-8"))
        #expect(refusal?.words == words)
        #expect(page.utf8.count <= NginxPage.bodyBytesMax)
      }
    }
  }

  @Test("no other answer is: of another status, server or page, or one that only repeats the words")
  func others() {
    let words = "No required SSL certificate was sent"
    let page = Self.page(words)
    let others = [
      Self.answer(page, status: 403), Self.answer(page, server: nil),
      Self.answer(page, server: "Apache"), Self.answer(page, server: "my-nginx"),
      Self.answer(""), Self.answer(Self.page("Bad Request")), Self.answer(words),
      Self.answer("400 \(words)"), Self.answer(#"{"detail": "<title>400 \(words)</title>"}"#),
      Self.answer("<html><body>you sent: \(page)</body></html>"),
      Self.answer(page, type: "text/plain"), Self.answer(page, type: nil),
      Self.answer(page, type: "text/htmlx"), Self.answer(page + "x"), Self.answer("x" + page),
      Self.answer(String(page.dropLast(2))), Self.answer(page, isTruncated: true),
      Self.answer(page.replacing("<center>nginx/1.22.1</center>", with: "<center>x</center>")),
      Self.answer(page.replacing("400 Bad Request</h1>", with: "Bad Request</h1>")),
    ]
    for other in others { #expect(ClientCertificateRefusal(other) == nil, "\(other)") }
  }

  @Test("the answer to HEAD, which has no body, can be one")
  func head() {
    #expect(ClientCertificateRefusal.canBe(Self.answer("")))
    #expect(!ClientCertificateRefusal.canBe(Self.answer("", status: 405)))
    #expect(!ClientCertificateRefusal.canBe(Self.answer("", server: "Apache")))
  }

  private func page(_ words: String, attributes: String = "") -> String {
    Self.page(words, attributes: attributes)
  }
}
