/// The pages with which nginx answers by itself, in place of the upstream that stands behind it.
///
/// They are compared whole, as nginx writes them (`ngx_http_special_response.c`): an upstream
/// behind nginx may repeat in an answer what a device has sent.
package enum NginxPage {
  /// The most bytes of an answer's body that are needed to know one: such a page, and what nginx
  /// adds for some browsers.
  package static let bodyBytesMax = 1024

  private static let padding =
    "<!-- a padding to disable MSIE and Chrome friendly error page -->\r\n"

  /// Whether nginx has sent an answer, as far as its fields tell.
  package static func mayBe(_ response: UpstreamResponse) -> Bool {
    response.headers.first("Server").map { $0.lowercased().hasPrefix("nginx") } ?? false
  }

  /// Whether an answer is nginx's own page of 400 with these words, and nothing else.
  package static func isOne(_ response: UpstreamResponse, saying words: String) -> Bool {
    guard mayBe(response), isHTML(response), !response.isTruncated else { return false }
    var rest = response.body[...]
    guard take("<html>\r\n<head><title>400 \(words)</title></head>\r\n<body", from: &rest) else {
      return false
    }
    // As releases before 1.15 wrote it.
    _ = take(" bgcolor=\"white\"", from: &rest)
    guard
      take(
        ">\r\n<center><h1>400 Bad Request</h1></center>\r\n<center>\(words)</center>\r\n"
          + "<hr><center>nginx", from: &rest)
    else { return false }
    // The version, which an operator may hide, and what a packager adds to it.
    rest = rest.drop { $0 != UInt8(ascii: "<") }
    guard take("</center>\r\n</body>\r\n</html>\r\n", from: &rest) else { return false }
    while take(padding, from: &rest) {}
    return rest.isEmpty
  }

  private static func isHTML(_ response: UpstreamResponse) -> Bool {
    let type = response.headers.first("Content-Type")?.lowercased() ?? ""
    return type == "text/html" || type.hasPrefix("text/html;")
  }

  /// Whether the rest begins with a text, which is then taken off it.
  private static func take(_ text: String, from rest: inout ArraySlice<UInt8>) -> Bool {
    guard rest.starts(with: text.utf8) else { return false }
    rest.removeFirst(text.utf8.count)
    return true
  }
}
