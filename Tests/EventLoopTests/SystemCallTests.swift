@testable import EventLoop
import Glibc
import Synchronization
import Testing

@Suite("System calls that a signal interrupts", .serialized, .timeLimit(.minutes(5)))
struct SystemCallTests {
  /// A thread that receives from a socket, and is interrupted there before anything comes.
  private func receive(
    by call: @escaping @Sendable (() -> Int) throws(SystemError) -> Int?
  ) throws -> Result<Int?, SystemError> {
    var action = sigaction()
    action.__sigaction_handler.sa_handler = { _ in }
    // Without SA_RESTART: the kernel does not begin the call anew by itself.
    var former = sigaction()
    #expect(sigaction(SIGUSR2, &action, &former) == 0)
    defer { sigaction(SIGUSR2, &former, nil) }
    var ends: [Int32] = [-1, -1]
    #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
    defer { for end in ends { close(end) } }
    let far = ends[1]
    let receiver = Atomic<UInt>(0)
    let callCount = Atomic<Int>(0)
    let result = Mutex<Result<Int?, SystemError>?>(nil)
    let thread = try Thread.spawn(name: "receiver") {
      // The threads that run tests block all signals, and theirs inherit that.
      var unblocked = sigset_t()
      sigemptyset(&unblocked)
      sigaddset(&unblocked, SIGUSR2)
      pthread_sigmask(SIG_UNBLOCK, &unblocked, nil)
      receiver.store(UInt(pthread_self()), ordering: .releasing)
      var byte: UInt8 = 0
      let received = Result { () throws(SystemError) -> Int? in
        try call {
          callCount.add(1, ordering: .relaxed)
          return recv(far, &byte, 1, 0)
        }
      }
      result.withLock { $0 = received }
    }
    while receiver.load(ordering: .acquiring) == 0 { sched_yield() }
    // Until it has been interrupted, and has made the call again, or has an error to show.
    while callCount.load(ordering: .relaxed) < 3, result.withLock({ $0 == nil }) {
      pthread_kill(pthread_t(receiver.load(ordering: .acquiring)), SIGUSR2)
      sched_yield()
    }
    _ = send(ends[0], [UInt8(7)], 1, 0)
    thread.join()
    return try #require(result.withLock { $0 })
  }

  @Test("a call is made again and no error comes of it")
  func isMadeAgain() throws {
    let result = try receive { (body) throws(SystemError) in try systemCall("recv", body) }
    #expect(try result.get() == 1)
  }

  @Test("nor of one on a descriptor that does not wait, which is no reason to wait either")
  func isMadeAgainWithoutWaiting() throws {
    let result = try receive { (body) throws(SystemError) in try nonBlockingCall("recv", body) }
    #expect(try result.get() == 1)
  }
}
