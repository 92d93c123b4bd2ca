import Synchronization

/// A stretch of a file, as the body of a request.
///
/// A transport reads it by ``piece(at:)``, which gives out nothing that is not what was kept. One
/// that reads the file by itself sends whatever is there by then.
public struct FileStretch: Sendable, Equatable {
  /// Where the file is.
  public let path: String
  /// The bytes of the file before it.
  public let offset: Int64
  /// Its bytes.
  public let count: Int64

  /// What is known of the whole file.
  private struct Whole: Sendable, Equatable {
    let count: Int64
    let sums: FileSums
  }

  /// What was found while it was read.
  private final class Finding: Sendable {
    let last = Mutex<(words: String, isChange: Bool)?>(nil)
  }

  private let whole: Whole?
  private let finding = Finding()

  /// A stretch of a file of which nothing else is known.
  public init(path: String, offset: Int64, count: Int64) {
    self.init(path: path, offset: offset, count: count, of: nil)
  }

  /// A stretch of a file.
  ///
  /// - Parameter whole: What it is held against; nil if there is nothing.
  private init(path: String, offset: Int64, count: Int64, of whole: Whole?) {
    self.path = path
    self.offset = offset
    self.count = count
    self.whole = whole
  }

  /// A part of a body that is kept in a file.
  ///
  /// - Parameters:
  ///   - whole: The bytes of all of it.
  ///   - sums: Its checksums; nil if there are none.
  init(_ path: String, from offset: Int64, _ count: Int64, of whole: Int64, _ sums: FileSums?) {
    self.init(
      path: path, offset: offset, count: count, of: sums.map { Whole(count: whole, sums: $0) })
  }

  /// Whether both are the same stretch of one file.
  public static func == (left: FileStretch, right: FileStretch) -> Bool {
    left.path == right.path && left.offset == right.offset && left.count == right.count
      && left.whole == right.whole
  }

  /// The bytes from a place on, as many as are read at a time; none at the end.
  ///
  /// - Parameter place: The bytes of the stretch before them.
  /// - Throws: Why they must not be sent: they cannot be read, or are not what was kept.
  public func piece(at place: Int64) throws(ConnectionFailure) -> [UInt8] {
    guard place >= 0, place < count else { return [] }
    let first = offset + place
    let end = offset + count
    guard let whole else {
      return try read(from: first, to: min(end, first + FileSums.blockBytes))
    }
    let block = first / FileSums.blockBytes
    let begin = block * FileSums.blockBytes
    let bytes = try read(from: begin, to: min(whole.count, begin + FileSums.blockBytes))
    guard whole.sums.fits(bytes[...], block: block) else {
      throw found("the body \(path) is not what was kept: its checksum differs", isChange: true)
    }
    return Array(bytes[Int(first - begin)..<Int(min(end - begin, Int64(bytes.count)))])
  }

  /// Makes sure that all of it is there, without reading it.
  package func check() throws(ConnectionFailure) {
    guard let size = Platform.size(of: path), size >= offset + count else {
      throw found("the body \(path) is missing, or shorter than it was")
    }
  }

  private func read(from: Int64, to: Int64) throws(ConnectionFailure) -> [UInt8] {
    guard let bytes = Platform.stretch(of: path, from: from, byteCount: Int(max(0, to - from)))
    else { throw found("the body \(path) cannot be read") }
    guard Int64(bytes.count) == to - from else {
      throw found("the body \(path) is shorter than it was")
    }
    return bytes
  }

  private func found(_ words: String, isChange: Bool = false) -> ConnectionFailure {
    finding.last.withLock { $0 = (words, isChange) }
    return .unsendable(words)
  }

  /// Why a piece of it was not given out, in words; nil if each was.
  package var unread: String? { finding.last.withLock { $0?.words } }

  /// How it differs from what was kept, in words; nil if nobody has found that it does.
  var fault: String? { finding.last.withLock { $0.flatMap { $0.isChange ? $0.words : nil } } }
}

extension ConnectionFailure {
  /// A request that cannot be sent as it is; in words.
  package static func unsendable(_ words: String) -> Self {
    Self(reason: words, mayHaveArrived: false)
  }
}
