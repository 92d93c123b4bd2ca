import Glibc

/// Standard output and standard error, without a buffer of our own.
///
/// A line reaches the reader of a pipe as soon as it is written.
enum StandardStream: Int32, Sendable {
  case output = 1
  case error = 2

  /// Writes a text and a line end.
  func line(_ text: String) {
    write(Array(text.utf8) + [0x0A])
  }

  /// Writes all of the bytes; gives up silently if nobody can read them any more.
  func write(_ bytes: [UInt8]) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(rawValue, $0.baseAddress, $0.count) }
      if count >= 0 {
        rest = rest.dropFirst(count)
      } else if errno == EAGAIN {
        // A process that shares the pipe may have made it non-blocking.
        var request = pollfd(fd: rawValue, events: Int16(POLLOUT), revents: 0)
        poll(&request, 1, -1)
      } else if errno != EINTR {
        return
      }
    }
  }
}
