/// The header field by which a replay's copy tells its original, whose id is its value.
///
/// Only the relay writes it, into the content of the copy. Fields whose names begin with
/// `Waystation-` are taken from no sender.
package enum ReplayMark {
  /// The field's name.
  package static let fieldName: StaticString = "Waystation-Replay"

  /// The id of the envelope that the content was copied from; nil if it is no copy.
  package static func original(of content: EnvelopeContent) -> String? {
    content.headers.first(fieldName)
  }
}
