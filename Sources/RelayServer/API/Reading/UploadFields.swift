import HTTPServer
import RelayCore

/// What a request says of an upload, in the fields of `draft-ietf-httpbis-resumable-upload`.
///
/// A field whose value is not of its type counts as absent (section 4.1).
package struct UploadFields: Equatable, Sendable {
  /// `Upload-Complete`: whether the upload ends with the content.
  package var completes: Bool?
  /// `Upload-Offset`: where the content begins.
  package var offset: Int64?
  /// `Upload-Length`: the length of the whole.
  package var length: Int64?
  /// The version of the draft by which the sender wants to be told of its upload while it goes on
  /// (status 104): `Upload-Draft-Interop-Version`.
  package var interopVersion: Int64?

  /// The first version in which requests have the form that the relay reads.
  private static let firstInteropVersion: Int64 = 6

  /// Says nothing.
  package init() {}

  /// Reads the fields of a request.
  package init(_ head: RequestHead) {
    completes = Self.single("Upload-Complete", head).flatMap(StructuredItem.boolean)
    offset = Self.single("Upload-Offset", head).flatMap(StructuredItem.length)
    length = Self.single("Upload-Length", head).flatMap(StructuredItem.length)
    let version = Self.single("Upload-Draft-Interop-Version", head).flatMap(StructuredItem.length)
    interopVersion = version.flatMap { $0 >= Self.firstInteropVersion ? $0 : nil }
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
  /// Without `Upload-Complete` none is: other protocols have fields of these names.
  /// `Content-Digest` is of the content of one request (RFC 9530 section 2).
  func isAbout(_ name: ArraySlice<UInt8>) -> Bool {
    guard completes != nil else { return false }
    let names: [StaticString] = [
      "Upload-Complete", "Upload-Offset", "Upload-Length", "Upload-Draft-Interop-Version",
    ]
    return names.contains { FieldSyntax.equals(name, $0) }
      || completes == false && FieldSyntax.equals(name, "Content-Digest")
  }

  private static func single(_ name: StaticString, _ head: RequestHead) -> ArraySlice<UInt8>? {
    let values = head.values(of: name)
    return values.count == 1 ? values[0] : nil
  }
}

/// Items of structured fields (RFC 9651 section 3.3), as far as uploads have them.
package enum StructuredItem {
  /// A Boolean; nil for anything else.
  package static func boolean(_ text: ArraySlice<UInt8>) -> Bool? {
    switch Array(bare(text)) {
    case Array("?0".utf8): false
    case Array("?1".utf8): true
    default: nil
    }
  }

  /// An Integer that is not negative; nil for anything else.
  package static func length(_ text: ArraySlice<UInt8>) -> Int64? {
    let digits = bare(text)
    guard (1...15).contains(digits.count), digits.allSatisfy({ $0 &- 0x30 < 10 }) else {
      return nil
    }
    return digits.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
  }

  /// The Byte Sequence of a key of a Dictionary of them, as `Repr-Digest` is one.
  ///
  /// - Returns: The outer nil if the key is not there, the inner one if its value is no such thing.
  package static func byteSequence(
    _ key: StaticString, in values: [ArraySlice<UInt8>]
  ) -> [UInt8]?? {
    var found: [UInt8]??
    // Neither base64 nor a key has a comma.
    for member in values.flatMap({ $0.split(separator: UInt8(ascii: ",")) }) {
      let member = FieldSyntax.trimmingWhitespace(member)
      guard let equals = member.firstIndex(of: UInt8(ascii: "=")),
        FieldSyntax.equals(member[..<equals], key)
      else { continue }
      let value = bare(member[(equals + 1)...])
      let colon = UInt8(ascii: ":")
      guard value.count >= 2, value.first == colon, value.last == colon else {
        found = .some(nil)
        continue
      }
      found = .some(try? Base64.decode(value.dropFirst().dropLast()))
    }
    return found
  }

  /// The item without its parameters, and without the white space around it.
  private static func bare(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    let end = text.firstIndex(of: UInt8(ascii: ";")) ?? text.endIndex
    return FieldSyntax.trimmingWhitespace(text[..<end])
  }
}
