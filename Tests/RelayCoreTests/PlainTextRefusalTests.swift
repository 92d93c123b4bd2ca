import RelayCore
import Testing

@Suite("An answer to plain text where TLS is spoken")
struct PlainTextRefusalTests {
  private static let nginxWords = "The plain HTTP request was sent to HTTPS port"
  private static let goText = "Client sent an HTTP request to an HTTPS server.\n"

  private static func page(_ words: String) -> String {
    "<html>\r\n<head><title>400 \(words)</title></head>\r\n<body>\r\n"
  }

  private static func answer(
    _ body: String, status: Int = 400, server: String? = "nginx/1.22.1"
  ) -> UpstreamResponse {
    var headers = HeaderBlock()
    if let server { headers.append(name: "Server", value: server) }
    return UpstreamResponse(status: status, headers: headers, body: Array(body.utf8))
  }

  @Test("nginx's page and Go's line are known")
  func known() {
    #expect(PlainTextRefusal(Self.answer(Self.page(Self.nginxWords)))?.words == Self.nginxWords)
    let go = PlainTextRefusal(Self.answer(Self.goText, server: nil))
    #expect(go?.words == "Client sent an HTTP request to an HTTPS server.")
  }

  @Test("no other answer is: of another status or server, or one that only repeats the words")
  func others() {
    let others = [
      Self.answer(Self.page(Self.nginxWords), status: 403),
      Self.answer(Self.page(Self.nginxWords), server: "Apache"),
      Self.answer(Self.page("Bad Request")), Self.answer(Self.nginxWords), Self.answer(""),
      Self.answer("you sent: " + Self.goText, server: nil), Self.answer(Self.goText, server: "Go"),
      Self.answer(Self.goText, status: 200, server: nil),
    ]
    for other in others { #expect(PlainTextRefusal(other) == nil, "\(other)") }
  }
}
