import Forwarder
import RelayCore
import Synchronization

/// An upstream that answers its first requests whole, each on a connection of its own, and has
/// something more to say on these once it is told to; all other requests get `mine`.
final class StrayUpstream: Sendable {
  static let mine = "HTTP/1.1 201 Created\r\nContent-Length: 4\r\n\r\nmine"
  static let evil = "HTTP/1.1 200 OK\r\nX-Evil: 1\r\nContent-Length: 4\r\n\r\nevil"

  let upstream: RawUpstream
  private let answered = Gate()
  private let arrived = Gate()
  private let onFirst: Log<RawRequest>

  /// Which requests came on the first connection.
  var requestsOnFirst: [String] { onFirst.all.map(\.line) }

  /// - Parameters:
  ///   - firstCount: How many first requests there are, which have to come at the same time.
  ///   - tls: What secures the connections; nil for nothing.
  ///   - isProxy: Whether it is asked to `CONNECT` first.
  ///   - first: What it sends for the first request, each piece in one go.
  ///   - later: What it sends on that connection when it is told to.
  init(
    _ firstCount: Int = 1, tls: RawTLS? = nil, isProxy: Bool = false, first: [String],
    later: @escaping @Sendable (RawConnection) -> Void
  ) throws {
    let (answered, arrived, onFirst) = (answered, arrived, Log<RawRequest>())
    self.onFirst = onFirst
    let (begun, told, allHaveBegun) = (Countdown(firstCount), Countdown(firstCount), Gate())
    upstream = try RawUpstream(tls: isProxy ? nil : tls) { connection in
      if isProxy {
        guard connection.readHead() != nil else { return }
        connection.send("HTTP/1.1 200 Connected\r\n\r\n")
        if let tls { connection.secure(with: tls) }
      }
      guard let request = connection.readRequest() else { return }
      guard let left = begun.next() else {
        repeat { connection.send(Self.mine) } while connection.readRequest() != nil
        return
      }
      onFirst.add(request)
      if left == 0 { allHaveBegun.open() }
      allHaveBegun.wait()
      for piece in first { connection.send(piece) }
      answered.wait()
      later(connection)
      connection.waitUntilArrived()
      if told.next() == 0 { arrived.open() }
      while let request = connection.readRequest() {
        onFirst.add(request)
        connection.send(Self.mine)
      }
    }
  }

  /// Has it say the rest, and waits until that has reached the kernel of who asked first.
  func sayMore() async {
    answered.open()
    await arrived.isOpen()
  }

  /// The same, for a thread that may block.
  func blockUntilMoreIsSaid() {
    answered.open()
    arrived.wait()
  }
}

/// Counts down, for several threads.
private final class Countdown: Sendable {
  private let left: Mutex<Int>

  init(_ count: Int) { left = Mutex(count) }

  /// How many are left behind this one; nil if there were none.
  func next() -> Int? {
    left.withLock { left in
      guard left > 0 else { return nil }
      left -= 1
      return left
    }
  }
}
