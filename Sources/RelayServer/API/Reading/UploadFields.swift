import HTTPServer
import RelayCore

/// What a request says of an upload, in the fields of `draft-ietf-httpbis-resumable-upload`.
///
/// In the draft, a field whose value is not of its type counts as absent (section 4.1). The relay
/// refuses such a request: of a device that writes `Upload-Complete: 0`, the first part would be
/// taken for the whole.
package struct UploadFields: Equatable, Sendable {
  /// `Upload-Complete`: whether the upload ends with the content.
  package private(set) var completes: Bool?
  /// `Upload-Offset`: where the content begins.
  package private(set) var offset: Int64?
  /// `Upload-Length`: the length of the whole.
  package private(set) var length: Int64?
  /// The version of the draft by which the sender wants to be told of its upload while it goes on
  /// (status 104): `Upload-Draft-Interop-Version`.
  package private(set) var interopVersion: Int64?

  /// The first version in which requests have the form that the relay reads.
  private static let firstInteropVersion: Int64 = 6

  /// Reads the fields of a request.
  ///
  /// Without `Upload-Complete` the others are not about an upload: other protocols have fields of
  /// these names. Of a version that is none, its sender is merely told nothing.
  package init(_ head: RequestHead) throws(Problem) {
    completes = try Self.completes(head)
    guard completes != nil else { return }
    offset = try Self.byteCount("Upload-Offset", head)
    length = try Self.byteCount("Upload-Length", head)
    let version = StructuredItem.integer(head.values(of: "Upload-Draft-Interop-Version"))
    if let version, version >= Self.firstInteropVersion { interopVersion = version }
  }

  /// Whether a request on `/v1/relay` begins an upload.
  ///
  /// One that is whole in itself does so only if its sender wants to be told where it could go on,
  /// and its body is not so small that it is as well sent again.
  ///
  /// - Parameters:
  ///   - length: The length of its body, if that is known.
  ///   - small: The most bytes of a small body.
  func beginsUpload(ofLength length: Int64?, small: Int) -> Bool {
    guard completes == true else { return completes == false }
    return interopVersion != nil && length ?? .max > small
  }

  /// Whether a field is about the upload, and not about the envelope.
  ///
  /// `Content-Digest` is of the content of one request (RFC 9530 section 2).
  func isAbout(_ name: ArraySlice<UInt8>) -> Bool {
    guard completes != nil else { return false }
    let names: [StaticString] = [
      "Upload-Complete", "Upload-Offset", "Upload-Length", "Upload-Draft-Interop-Version",
    ]
    return names.contains { FieldSyntax.equals(name, $0) }
      || completes == false && FieldSyntax.equals(name, "Content-Digest")
  }

  private static func completes(_ head: RequestHead) throws(Problem) -> Bool? {
    let values = head.values(of: "Upload-Complete")
    guard !values.isEmpty else { return nil }
    guard let completes = StructuredItem.boolean(values) else {
      throw .invalidField(
        "Upload-Complete", "It is \(shown(values)), which is neither ?1 nor ?0.",
        fix: "Send ?1 with a whole body or its last part, and ?0 with each other part.")
    }
    return completes
  }

  private static func byteCount(
    _ name: StaticString, _ head: RequestHead
  ) throws(Problem) -> Int64? {
    let values = head.values(of: name)
    guard !values.isEmpty else { return nil }
    guard let count = StructuredItem.integer(values), count >= 0 else {
      throw .invalidField(
        name.description, "It is \(shown(values)), which is no number of bytes.",
        fix: "Write it as a whole number from 0 to \(StructuredItem.integerMax).")
    }
    return count
  }

  private static func shown(_ values: [ArraySlice<UInt8>]) -> String {
    values.map { String(decoding: $0, as: UTF8.self) }.joined(separator: ", ").quoted
  }
}
