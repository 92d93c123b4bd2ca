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
    _ body: String, status: Int = 400, server: String? = "nginx/1.22.1"
  ) -> UpstreamResponse {
    var headers = HeaderBlock()
    if let server { headers.append(name: "server", value: server) }
    return UpstreamResponse(status: status, headers: headers, body: Array(body.utf8))
  }

  @Test(
    "both of its pages are known, whole or cut off, whatever the release says of itself",
    arguments: ["No required SSL certificate was sent", "The SSL certificate error"])
  func known(words: String) {
    for server in ["nginx", "nginx/1.22.1", "Nginx/1.9 (Ubuntu)"] {
      for page in [page(words), page(words, attributes: " bgcolor=\"white\"")] {
        let refusal = ClientCertificateRefusal(Self.answer(page, server: server))
        #expect(refusal?.words == words)
        let cut = String(page.prefix(NginxPage.bodyBytesMax))
        #expect(ClientCertificateRefusal(Self.answer(cut, server: server))?.words == words)
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
