import EventLoop
import Glibc
import JSON

/// The progress of a transfer between a file and a relay, kept in a file beside it.
struct ProgressNote: Equatable {
  /// The number of bytes of the file that are done.
  var bytes: Int64 = 0
  /// The number of lines that are done.
  var lines: Int64 = 0
  /// A digest of the file's first bytes, or of an export's filter, by which the transfer is
  /// recognised.
  var mark = ""
  /// The cursor at which an export goes on; nil for a transfer to the relay.
  var cursor: String?
  /// The filter of an export, as the relay reads it; nil for a transfer to the relay.
  var filter: String?

  /// The path of the note on a file.
  static func path(of file: String) -> String { file + ".progress" }

  /// The note that an earlier run has left; nil if there is none, or it cannot be parsed.
  static func read(_ file: String) -> ProgressNote? {
    guard let bytes = try? FileContents.read(path(of: file), bytesMax: 65536),
      let object = try? JSONValue.parse(bytes).object()
    else { return nil }
    return ProgressNote(
      bytes: object.number("bytes"), lines: object.number("lines"),
      mark: object.text("mark") ?? "", cursor: object.text("cursor"),
      filter: object.text("filter"))
  }

  /// Replaces the note on a file by this one.
  func write(_ file: String) throws(OperatorFailure) {
    var json = JSONWriter()
    json.object { json in
      json.member("bytes", bytes)
      json.member("lines", lines)
      json.member("mark", mark)
      if let cursor { json.member("cursor", cursor) }
      if let filter { json.member("filter", filter) }
    }
    let path = Self.path(of: file)
    let number = open(path + ".new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    let text = json.finish()
    guard number >= 0 else { throw failure(path) }
    let new = FileDescriptor(adopting: number)
    guard Glibc.write(new.number, text, text.count) == text.count, fdatasync(new.number) == 0,
      rename(path + ".new", path) == 0
    else { throw failure(path) }
  }

  private func failure(_ path: String) -> OperatorFailure {
    let error = SystemError(code: errno, operation: "write", subject: path)
    return OperatorFailure(reason: "\(path) cannot be written: \(error.reason)")
  }

  /// Removes the note, once all is done.
  static func remove(_ file: String) { unlink(path(of: file)) }

  /// A digest by which bytes are recognised, in hexadecimal digits (FNV-1a, 64 bits); it protects
  /// against nobody.
  static func digest(_ bytes: some Sequence<UInt8>) -> String {
    let hash = bytes.reduce(UInt64(0xCBF2_9CE4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    return String(hash, radix: 16)
  }
}
