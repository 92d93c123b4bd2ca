import EventLoop
import Synchronization

// Bodies that end before they have come whole.
extension ServerConnection {
  func cutOffBody() {
    isBodyCut.store(true, ordering: .relaxed)
    socket.wakeReader()
  }

  func endBodyEarly() {
    bodyBytesLeft.store(Self.bytesInKernelMax, ordering: .relaxed)
    socket.wakeReader()
  }

  /// More than the kernel keeps of a connection (tcp(7), `tcp_rmem`): so much may have come.
  private static let bytesInKernelMax = 8 << 20

  var isBodyEnding: Bool { bodyBytesLeft.load(ordering: .relaxed) >= 0 }

  /// Reads some of what has come of a body that is to end early; false if nothing has, or enough.
  func readWhatHasCome() -> Bool {
    guard bodyBytesLeft.load(ordering: .relaxed) > 0 else { return false }
    let before = takenBytes
    state.attachBuffer { context.takeBuffer() }
    do throws(SystemError) {
      guard try readSome() else { return false }
    } catch {
      state.inputEnded()
    }
    bodyBytesLeft.subtract(max(1, takenBytes - before), ordering: .relaxed)
    return true
  }
}
