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

  private let path: String
  private let file: Mutex<FileDescriptor>

  /// Opens a file, to write behind what is there; makes it if there is none.
  ///
  /// - Throws: ``Failure`` also if its last line has no end: what is written behind it could not be
  ///   read.
  init(appendingTo path: String) throws(Failure) {
    let number = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    guard number >= 0 else {
      let error = SystemError(code: errno, operation: "open", subject: path)
      throw Failure(description: "\(path) cannot be written: \(error.reason)")
    }
    let file = FileDescriptor(adopting: number)
    var last: UInt8 = 0x0A
    let end = lseek(number, 0, SEEK_END)
    if end > 0, pread(number, &last, 1, end - 1) == 1, last != 0x0A {
      throw Failure(
        description: "the last line of \(path) has no end, as of a sink that was killed: take the"
          + " line out, or name another file")
    }
    self.path = path
    self.file = Mutex(file)
  }

  /// A file cannot be used; in words.
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// Writes a request down.
  ///
  /// - Throws: ``SystemError``; a part of the line may be in the file then.
  func add(_ head: RequestHead, _ body: [UInt8]) throws(SystemError) {
    let line = Self.line(head, body)
    let code = file.withLock { file -> Int32? in
      var rest = line[...]
      while !rest.isEmpty {
        let count = rest.withUnsafeBytes { Glibc.write(file.number, $0.baseAddress, $0.count) }
        if count < 0, errno != EINTR { return errno }
        rest = rest.dropFirst(max(0, count))
      }
      return nil
    }
    if let code { throw SystemError(code: code, operation: "write", subject: path) }
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
