import EventLoop
import RelayCore

extension Socket {
  /// Reads and drops whatever comes, until the peer ends or a deadline passes.
  func discardInput(until deadline: MonotonicTime) async {
    do throws(SystemError) {
      while MonotonicClock.now() < deadline {
        try await waitUntilReadable(until: deadline)
        // On the stack of this step only: a lingering connection holds no buffer.
        let count = try withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 4096) {
          (room) throws(SystemError) -> Int? in
          try tryRead(into: UnsafeMutableRawBufferPointer(room))
        }
        if count == 0 { return }
        // Who sends without a pause must not keep others from their turn meanwhile.
        await Task.yield()
      }
    } catch {
      return
    }
  }
}
