/// The pages with which nginx answers by itself, in place of the upstream that stands behind it.
package enum NginxPage {
  /// The most bytes of an answer's body that are needed to know one.
  package static let bodyBytesMax = 256

  /// Whether nginx has sent an answer, as far as its fields tell.
  package static func mayBe(_ response: UpstreamResponse) -> Bool {
    response.headers.first("Server").map { $0.lowercased().hasPrefix("nginx") } ?? false
  }

  /// Whether an answer is nginx's own page with this title, from its first byte on.
  package static func isOne(_ response: UpstreamResponse, titled title: String) -> Bool {
    guard mayBe(response) else { return false }
    let page = response.body.prefix(bodyBytesMax).filter { $0 > 0x20 }
    return page.starts(with: "<html><head><title>\(title)</title>".utf8.filter { $0 > 0x20 })
  }
}
