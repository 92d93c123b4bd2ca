import Glibc

/// A failed system call, with its subject and the kernel's reason.
///
/// Only operating conditions become a `SystemError`. `EINTR` is retried; `EBADF` and `EFAULT` trap,
/// since only a mistake in this program can cause them.
package struct SystemError: Error, Sendable, CustomStringConvertible {
  /// The kernel's `errno`.
  package let code: Int32
  /// The call that failed, such as `bind`.
  package let operation: StaticString
  /// The call's subject, such as an address or a path; empty if there is nothing to add.
  package let subject: String

  /// An error with the kernel's `errno` in `code`.
  package init(code: Int32, operation: StaticString, subject: String = "") {
    self.code = code
    self.operation = operation
    self.subject = subject
  }

  /// Whether a deadline passed before the operation was done.
  package var isTimeout: Bool { code == ETIMEDOUT }

  /// Whether this end closed the descriptor while the operation was waiting.
  package var isClosed: Bool { code == ECANCELED }

  /// The kernel's words for `code`.
  package var reason: String {
    var buffer = [CChar](repeating: 0, count: 128)
    guard strerrorBytes(code, into: &buffer) else { return "error \(code)" }
    let end = buffer.firstIndex(of: 0) ?? buffer.endIndex
    return String(decoding: buffer[..<end].lazy.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Operation, subject and reason in a line.
  package var description: String {
    subject.isEmpty ? "\(operation): \(reason)" : "\(operation) \(subject): \(reason)"
  }
}

private func strerrorBytes(_ code: Int32, into buffer: inout [CChar]) -> Bool {
  strerror_r(code, &buffer, buffer.count) == 0
}

/// Runs one system call: retries `EINTR`, traps on our own mistakes, and throws other errors.
@inline(__always)
func systemCall<Result: FixedWidthInteger & SignedInteger>(
  _ operation: StaticString, on subject: @autoclosure () -> String = "", _ body: () -> Result
) throws(SystemError) -> Result {
  while true {
    let result = body()
    if result != -1 { return result }
    let code = errno
    if code == EINTR { continue }
    trapOnOwnMistake(code, operation)
    throw SystemError(code: code, operation: operation, subject: subject())
  }
}

/// Runs one system call on a non-blocking descriptor: nil if it would have to wait.
@inline(__always)
func nonBlockingCall<Result: FixedWidthInteger & SignedInteger>(
  _ operation: StaticString, on subject: @autoclosure () -> String = "", _ body: () -> Result
) throws(SystemError) -> Result? {
  while true {
    let result = body()
    if result != -1 { return result }
    let code = errno
    if code == EINTR { continue }
    if code == EAGAIN { return nil }
    trapOnOwnMistake(code, operation)
    throw SystemError(code: code, operation: operation, subject: subject())
  }
}

private func trapOnOwnMistake(_ code: Int32, _ operation: StaticString) {
  precondition(
    code != EBADF && code != EFAULT, "\(operation): errno \(code), a mistake in this program")
}
