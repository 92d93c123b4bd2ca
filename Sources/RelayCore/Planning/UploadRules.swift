/// What a request to append to an upload says of itself.
package struct UploadAppend: Sendable, Equatable {
  /// The place at which its content begins.
  package var offset: Int64
  /// Whether the upload is complete with it.
  package var completes: Bool
  /// The length of its content, where that is known before it is read.
  package var contentLength: Int64?
  /// The length of the whole that it names.
  package var length: Int64?

  /// Puts the facts together.
  package init(offset: Int64, completes: Bool, contentLength: Int64?, length: Int64?) {
    self.offset = offset
    self.completes = completes
    self.contentLength = contentLength
    self.length = length
  }

  /// The length of the whole that it tells: the one that it names, or that its end makes.
  fileprivate var lengthTold: Int64? {
    length ?? (completes ? contentLength.map { offset + $0 } : nil)
  }
}

/// What an append to an upload may do: `draft-ietf-httpbis-resumable-upload`, sections 4.1 and 4.4.
package enum UploadRules {
  /// The decision on a request.
  package enum Verdict: Sendable, Equatable {
    /// Read its content; `length` is that of the whole, as far as it is known now.
    case append(length: Int64?)
    /// It is the request that has completed the upload, once more.
    case repeated
    /// The upload is complete, and takes nothing more.
    case completed
    /// The content begins at another place than the upload ends.
    case mismatchingOffset(expected: Int64)
    /// What it says of the length contradicts itself, or what was said before.
    case inconsistentLength
    /// The whole would be larger than uploads may be.
    case tooLarge
  }

  /// Decides on a request before its content is read.
  ///
  /// - Parameter bytesMax: The most bytes that an upload may have.
  package static func verdict(
    on append: UploadAppend, to upload: Upload, bytesMax: Int64
  ) -> Verdict {
    let end = append.contentLength.map { append.offset + $0 }
    guard upload.envelope == nil else {
      return append.completes && end == upload.offset ? .repeated : .completed
    }
    guard append.offset == upload.offset else {
      return .mismatchingOffset(expected: upload.offset)
    }
    if append.completes, let end, let named = append.length, named != end {
      return .inconsistentLength
    }
    if let told = append.lengthTold, let known = upload.length, told != known {
      return .inconsistentLength
    }
    let length = upload.length ?? append.lengthTold
    if let length, length < end ?? upload.offset { return .inconsistentLength }
    if max(length ?? 0, end ?? 0) > bytesMax { return .tooLarge }
    return .append(length: length)
  }

  /// Whether an upload may have so many bytes, while its content is being read.
  ///
  /// - Returns: nil if it may.
  package static func refusal(
    at offset: Int64, length: Int64?, bytesMax: Int64
  ) -> Verdict? {
    if let length, offset > length { return .inconsistentLength }
    return offset > bytesMax ? .tooLarge : nil
  }

  /// Whether an upload may end here.
  package static func mayComplete(at offset: Int64, length: Int64?) -> Bool {
    length.map { $0 == offset } ?? true
  }

  /// Whether the store is asked to have what has come on disk for good, and to note its time.
  ///
  /// - Parameters:
  ///   - count: The bytes that have come since it was asked last.
  ///   - milliseconds: The time since then.
  package static func isSyncDue(after count: Int64, milliseconds: Int64) -> Bool {
    count >= syncedBytes || count > 0 && milliseconds >= syncedMs
  }

  private static let syncedBytes: Int64 = 4 << 20
  private static let syncedMs: Int64 = 5000
}
