import Glibc

/// A folder that is gone with the value.
final class TemporaryFolder: Sendable {
  let path: String

  init() throws {
    // In memory, where there is such a file system: thousands of databases are opened.
    let base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"
    var template = Array("\(base)/waystation-outbox-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw Failure(number: errno) }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  struct Failure: Error { let number: Int32 }

  deinit { Self.remove(path) }

  private static func remove(_ path: String) {
    if let directory = opendir(path) {
      defer { closedir(directory) }
      while let entry = readdir(directory) {
        let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
          pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
        if name != "." && name != ".." { remove("\(path)/\(name)") }
      }
      rmdir(path)
    } else {
      unlink(path)
    }
  }
}
