import EventLoop
import RelayCore

extension Socket {
  /// Reads and drops bytes until the peer ends its side or a deadline passes.
  func discardInput(until deadline: MonotonicTime) async {
    do throws(SystemError) {
      while MonotonicClock.now() < deadline {
        try await waitUntilReadable(until: deadline)
        let count = try tryDiscard()
        if count == 0 { return }
        // A peer that sends without a pause must not keep others from their turn.
        await Task.yield()
      }
    } catch {
      return
    }
  }

  /// Reads and drops the available bytes; nil if there are none yet, 0 at the end.
  ///
  /// A function of its own, so that its buffer is on the stack: a lingering connection's task holds
  /// none.
  @inline(never)
  private func tryDiscard() throws(SystemError) -> Int? {
    try withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 4096) {
      (room) throws(SystemError) -> Int? in
      try tryRead(into: UnsafeMutableRawBufferPointer(room))
    }
  }
}
