import HTTPServer
import RelayCore

/// The operators' page: `GET /status` for who wants HTML, and `GET /status/page/{file}`.
///
/// It holds no data, so that everybody may have it who may reach the route: it asks for a token by
/// itself, and shows what the relay's other routes show to that.
enum GetPage {
  /// The page's content security policy (CSP Level 3).
  ///
  /// It loads its own scripts, styles and pictures, talks to this relay, and does nothing else. No
  /// text can become markup within it, whatever a script does.
  static let policy = [
    "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'",
    "connect-src 'self'", "form-action 'none'", "frame-ancestors 'none'", "base-uri 'none'",
    "require-trusted-types-for 'script'", "trusted-types 'none'",
  ].joined(separator: "; ")

  /// Whether a request for `/status` is a browser's: it likes HTML more than JSON.
  static func isWanted(_ head: RequestHead) -> Bool {
    let accepted = AcceptedTypes(head)
    return accepted.quality("text", "html") > accepted.quality("application", "json")
  }

  /// The page itself.
  static func page(_ head: RequestHead) -> HTTPResponse { answer(PageFile.page, head) }

  /// A file that it loads.
  static func file(_ head: RequestHead, _ captures: PathCaptures) -> HTTPResponse {
    answer(captures.decoded("file").flatMap(PageFile.named), head)
  }

  private static func answer(_ file: PageFile?, _ head: RequestHead) -> HTTPResponse {
    guard let file else { return Problem.notFound().response }
    let isKnown = isKnown(file.entityTag, by: head)
    var response = HTTPResponse(
      status: isKnown ? 304 : 200, body: isKnown ? .empty : .bytes(file.bytes))
    response.headers.add("ETag", file.entityTag)
    // Kept, but asked for each time: after an upgrade no two versions meet in one page.
    response.headers.add("Cache-Control", "no-cache")
    response.headers.add("Content-Security-Policy", policy)
    response.headers.add("X-Content-Type-Options", "nosniff")
    response.headers.add("Referrer-Policy", "no-referrer")
    response.headers.add("Cross-Origin-Opener-Policy", "same-origin")
    response.headers.add("Cross-Origin-Resource-Policy", "same-origin")
    if !isKnown { response.headers.add("Content-Type", file.type) }
    return response
  }

  /// Whether `If-None-Match` names it (RFC 9110 section 13.1.2); compared weakly, as that asks.
  private static func isKnown(_ entityTag: String, by head: RequestHead) -> Bool {
    head.values(of: "If-None-Match").contains { value in
      value.split(separator: UInt8(ascii: ",")).contains { element in
        var tag = FieldSyntax.trimmingWhitespace(element)
        if tag.elementsEqual([UInt8(ascii: "*")]) { return true }
        if tag.starts(with: "W/".utf8) { tag = tag.dropFirst(2) }
        return tag.elementsEqual(entityTag.utf8)
      }
    }
  }
}
