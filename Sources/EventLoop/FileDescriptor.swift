import Glibc

/// An open file descriptor with exactly one owner; closed when its owner lets go of it.
package struct FileDescriptor: ~Copyable, Sendable {
  /// The kernel's number, valid only while this value lives.
  package let number: Int32

  /// Takes ownership of an open descriptor, which nobody else may close from now on.
  package init(adopting number: Int32) {
    precondition(number >= 0, "a descriptor is never negative")
    self.number = number
  }

  deinit {
    // Linux frees the number even where close reports EINTR, so it is never retried: close(2).
    _ = Glibc.close(number)
  }

  /// Gives the number away without closing it; the caller owns it from now on.
  package consuming func release() -> Int32 {
    let number = number
    discard self
    return number
  }
}
