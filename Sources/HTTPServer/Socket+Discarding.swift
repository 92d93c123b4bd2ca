import EventLoop
import RelayCore

extension Socket {
  /// Reads and drops whatever comes, until the peer ends or a deadline passes.
  func discardInput(until deadline: MonotonicTime) async {
    do throws(SystemError) {
      while MonotonicClock.now() < deadline {
        try await waitUntilReadable(until: deadline)
        let count = try tryDiscard()
        if count == 0 { return }
        // Who sends without a pause must not keep others from their turn meanwhile.
        await Task.yield()
      }
    } catch {
      return
    }
  }

  /// Reads and drops what is there; nil where nothing is there yet, 0 at the end.
  ///
  /// By itself, so that the room is on the stack: a lingering connection's task holds no buffer.
  @inline(never)
  private func tryDiscard() throws(SystemError) -> Int? {
    try withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 4096) {
      (room) throws(SystemError) -> Int? in
      try tryRead(into: UnsafeMutableRawBufferPointer(room))
    }
  }
}
