import JSON
import RelayCore

extension ErrorDocument {
  /// What an upstream says in the answer with which it refused an envelope; nil if it says nothing,
  /// or the answer was longer than what is kept.
  package init?(_ answer: UpstreamResponse) {
    guard !answer.isTruncated, let type = answer.headers.first("Content-Type") else { return nil }
    self.init(answer.body, contentType: type)
  }
}
