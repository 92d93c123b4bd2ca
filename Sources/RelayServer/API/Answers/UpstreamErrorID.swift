import JSON
import RelayCore

/// The id that an upstream gives an error in a problem document (RFC 9457), by which people and
/// programs can look it up.
package enum UpstreamErrorID {
  /// The most bytes of one that is shown.
  static let bytesMax = 256

  /// The extension member `errorId`; else the `type`, unless that is `about:blank`, which says no
  /// more than the status does (RFC 9457 section 4.2.1); nil if the answer is no problem document,
  /// or was longer than what is kept.
  package static func find(in answer: UpstreamResponse) -> String? {
    guard !answer.isTruncated, let type = answer.headers.first("Content-Type"),
      isProblem(Array(type.utf8)[...]), let value = try? JSONValue.parse(answer.body),
      let object = try? value.object()
    else { return nil }
    if let id = text(object["errorId"]) { return id }
    return text(object["type"]).flatMap { $0 == "about:blank" ? nil : $0 }
  }

  private static func isProblem(_ contentType: ArraySlice<UInt8>) -> Bool {
    let name = FieldSyntax.trimmingWhitespace(contentType.prefix { $0 != UInt8(ascii: ";") })
    return FieldSyntax.equals(name, "application/problem+json")
  }

  private static func text(_ value: JSONValue?) -> String? {
    guard let text = try? value?.string(), !text.isEmpty, text.utf8.count <= bytesMax else {
      return nil
    }
    return text
  }
}
