/// The reason that a body was not accepted as gzip (RFC 1952).
package enum GzipError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The data is not gzip, or is damaged; zlib's own words say how.
  case corrupt(String)
  /// The data ends before the end of its last member.
  case truncated
  /// Bytes that are not a gzip member follow the last one.
  case trailingGarbage
  /// The decoded data would be larger than the limit, in bytes.
  case tooLarge(decodedBytesMax: Int)
  /// zlib could not get the memory for its window (about 40 KiB).
  case outOfMemory

  /// A sentence for the sender of the data.
  package var description: String {
    switch self {
    case .corrupt(let detail): "the body is not valid gzip: \(detail)"
    case .truncated: "the gzip body ends too early"
    case .trailingGarbage: "the gzip body is followed by bytes that are not gzip"
    case .tooLarge(let limit): "the body decodes to more than \(limit) bytes"
    case .outOfMemory: "there is not enough memory to decode the gzip body"
    }
  }
}
