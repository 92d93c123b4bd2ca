import EventLoop
import Glibc
import HTTPServer
import JSON
import RelayCore
import Synchronization

/// Writes down all that reaches the sink, in the form that `waystation audit-lane --requests`
/// reads: a line of JSON for each request, in the order in which they came.
///
/// A request is in the file before it is answered.
final class SinkRecord: Sendable {
  /// The longest body that is written down, in bytes: a longer one is refused.
  ///
  /// In Base64, with its fields, it has to be a line that an audit reads: of 64 MiB at the most.
  static let bodyBytesMax = 32 << 20

  private struct File: ~Copyable {
    let descriptor: FileDescriptor
    /// Whether a line stands there that is not whole, and could not be taken out.
    var isCut = false
  }

  private let path: String
  private let file: Mutex<File>

  /// Opens a file, to write behind what is there; makes it if there is none.
  ///
  /// - Throws: ``Failure`` also if it is no regular file, or if its last line has no end: what is
  ///   written behind that could not be read.
  init(appendingTo path: String) throws(Failure) {
    let number = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0o600)
    guard number >= 0 else {
      let error = SystemError(code: errno, operation: "open", subject: path)
      throw Failure(description: "\(path) cannot be written: \(error.reason)")
    }
    let descriptor = FileDescriptor(adopting: number)
    var status = stat()
    guard fstat(number, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw Failure(description: "\(path) is no regular file")
    }
    var last: UInt8 = 0x0A
    if status.st_size > 0, pread(number, &last, 1, status.st_size - 1) == 1, last != 0x0A {
      throw Failure(
        description: "the last line of \(path) has no end, as of a sink that was killed: take the"
          + " line out, or name another file")
    }
    self.path = path
    file = Mutex(File(descriptor: descriptor))
  }

  /// A file cannot be used; in words.
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// Writes a request down.
  ///
  /// - Throws: ``SystemError``; nothing of the line is in the file then, unless it cannot be taken
  ///   out: no other one is written behind it.
  func add(_ head: RequestHead, _ body: [UInt8]) throws(SystemError) {
    let line = Self.line(head, body)
    let code = file.withLock { file in Self.append(line, to: &file) }
    if let code { throw SystemError(code: code, operation: "write", subject: path) }
  }

  /// - Returns: What went wrong; nil if all is there.
  private static func append(_ line: [UInt8], to file: inout File) -> Int32? {
    let number = file.descriptor.number
    var status = stat()
    guard fstat(number, &status) == 0 else { return errno }
    // Somebody has removed it, and nobody would read it.
    guard status.st_nlink > 0 else { return ENOENT }
    guard !file.isCut else { return EIO }
    var rest = line[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(number, $0.baseAddress, $0.count) }
      guard count < 0 else {
        rest = rest.dropFirst(count)
        continue
      }
      if errno == EINTR { continue }
      let code = errno
      if ftruncate(number, status.st_size) != 0 { file.isCut = true }
      return code
    }
    return nil
  }

  /// The line of a request, with its line end.
  static func line(_ head: RequestHead, _ body: [UInt8]) -> [UInt8] {
    var json = JSONWriter()
    json.object { json in
      json.member("method", head.method.description)
      json.member("path", String(decoding: head.target, as: UTF8.self))
      json.memberObject("headers") { json in write(head, to: &json) }
      if !body.isEmpty {
        json.member("bodyBase64", String(decoding: Base64.encode(body), as: UTF8.self))
      }
    }
    return json.finish() + [0x0A]
  }

  private static func write(_ head: RequestHead, to json: inout JSONWriter) {
    var names: [String] = []
    var values: [String: [String]] = [:]
    for field in head.fields {
      let name = String(decoding: head.name(of: field), as: UTF8.self)
      let folded = name.lowercased()
      if values[folded] == nil { names.append(name) }
      values[folded, default: []].append(String(decoding: head.value(of: field), as: UTF8.self))
    }
    for name in names {
      guard let all = values[name.lowercased()], let first = all.first else { continue }
      json.name(name)
      guard all.count > 1 else {
        json.string(first)
        continue
      }
      json.array { json in for value in all { json.string(value) } }
    }
  }
}
