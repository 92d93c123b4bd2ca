import EventLoop
import Glibc

/// The input that a command is given.
enum InputFile {
  static let bytesMax = 1 << 30

  /// All bytes of a file; `-` stands for standard input.
  static func read(_ path: String, _ origin: String) throws(OperatorFailure) -> [UInt8] {
    do throws(SystemError) {
      return try FileContents.read(path == "-" ? "/dev/stdin" : path, bytesMax: bytesMax)
    } catch {
      throw OperatorFailure(reason: "\(origin): \(path) cannot be read: \(error.reason)")
    }
  }
}
