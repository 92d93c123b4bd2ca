import Dispatch
import EventLoop
import Glibc
import Synchronization

/// An upstream that does with each connection exactly what a test says, well-behaved or not.
///
/// Plain blocking sockets, one thread a connection: what is under test shares no code with it.
final class RawUpstream: Sendable {
  let port: UInt16
  private let listener: Int32
  private let accepted = Atomic<Int>(0)
  private let hasStopped = Atomic(false)

  /// How many connections have been made.
  var acceptCount: Int { accepted.load(ordering: .sequentiallyConsistent) }
  var url: String { "http://127.0.0.1:\(port)" }
  var secureURL: String { "https://127.0.0.1:\(port)" }

  /// Listens on a free port of the loopback.
  ///
  /// - Parameter tls: What secures each connection from the start; nil for nothing.
  init(tls: RawTLS? = nil, _ serve: @escaping @Sendable (RawConnection) -> Void) throws {
    (listener, port) = try Self.listen(backlog: 256)
    let listener = listener
    let count: @Sendable () -> Void = { [weak self] in
      self?.accepted.add(1, ordering: .sequentiallyConsistent)
    }
    _ = try Thread.spawn(name: "raw-upstream") {
      while case let socket = accept(listener, nil, nil), socket >= 0 {
        count()
        _ = try? Thread.spawn(name: "raw-connection") {
          let connection = RawConnection(socket)
          if let tls { connection.secure(with: tls) }
          serve(connection)
          connection.close()
        }
      }
      // Closed here and nowhere else: its number may be another upstream's at once, of which this
      // thread would then take the connections.
      Glibc.close(listener)
    }
  }

  /// Ends the thread that accepts.
  deinit { stopListening() }

  /// Takes no more connections; those that are there go on.
  func stopListening() {
    guard !hasStopped.exchange(true, ordering: .sequentiallyConsistent) else { return }
    shutdown(listener, Int32(SHUT_RDWR))
  }

  /// A listening socket and its port.
  static func listen(backlog: Int32) throws -> (socket: Int32, port: UInt16) {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard let port = bind(listener), Glibc.listen(listener, backlog) == 0 else {
      throw SystemError(code: errno, operation: "listen for a test")
    }
    return (listener, port)
  }

  /// Binds a socket to a free port of the loopback, and returns that; nil with `errno` if it fails.
  static func bind(_ socket: Int32) -> UInt16? {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.bind(socket, $0, length) == 0 && getsockname(socket, $0, &length) == 0
      }
    }
    return isBound ? UInt16(bigEndian: address.sin_port) : nil
  }
}

/// One connection to a ``RawUpstream``; used by its own thread alone.
final class RawConnection {
  private var socket: Int32
  private var session: RawTLS.Session?
  private var pending: [UInt8] = []

  init(_ socket: Int32) {
    self.socket = socket
  }

  /// The next request with its body; nil if the peer has closed.
  func readRequest() -> RawRequest? {
    guard var request = readHead() else { return nil }
    let length = request.values("content-length").first.flatMap { Int($0) } ?? 0
    guard fill(to: length) else { return nil }
    request.body = Array(pending.prefix(length))
    pending.removeFirst(length)
    return request
  }

  /// The next request's header, with its body left unread.
  func readHead() -> RawRequest? {
    var count = 1
    while true {
      if let end = endOfHead() {
        let head = Array(pending[..<end])
        pending.removeFirst(end)
        return RawRequest(head: head)
      }
      count = pending.count + 1
      guard fill(to: count) else { return nil }
    }
  }

  private func endOfHead() -> Int? {
    guard pending.count >= 4 else { return nil }
    for index in 3..<pending.count
    where pending[index] == 10 && pending[(index - 3)...index].elementsEqual([13, 10, 13, 10]) {
      return index + 1
    }
    return nil
  }

  private func fill(to count: Int) -> Bool {
    var buffer = [UInt8](repeating: 0, count: 65536)
    while pending.count < count {
      let got = session?.read(into: &buffer) ?? recv(socket, &buffer, buffer.count, 0)
      guard got > 0 else { return false }
      pending.append(contentsOf: buffer[..<got])
    }
    return true
  }

  /// Sends all; false if the peer is gone.
  @discardableResult
  func send(_ bytes: [UInt8]) -> Bool {
    if let session { return session.write(bytes) }
    var sent = 0
    while sent < bytes.count {
      let count = bytes.withUnsafeBytes {
        Glibc.send(
          socket, $0.baseAddress.map { $0 + sent }, bytes.count - sent, Int32(MSG_NOSIGNAL)
        )
      }
      guard count > 0 else { return false }
      sent += count
    }
    return true
  }

  @discardableResult
  func send(_ text: String) -> Bool { send(Array(text.utf8)) }

  /// Reads so many bytes; nil if the peer has closed.
  func read(count: Int) -> [UInt8]? {
    guard fill(to: count) else { return nil }
    defer { pending.removeFirst(count) }
    return Array(pending.prefix(count))
  }

  /// Whether HTTP/2 was settled on as TLS began.
  var speaksHTTP2: Bool { session?.speaksHTTP2 ?? false }

  /// Goes on under TLS, as the server.
  func secure(with tls: RawTLS) { session = RawTLS.Session(tls, socket: socket) }

  /// Waits until the peer's kernel has all that was sent, so that it cannot be missed any more, or
  /// until the peer is gone.
  func waitUntilArrived() {
    var unacknowledged: Int32 = 0
    var state = pollfd(fd: socket, events: 0, revents: 0)
    while ioctl(socket, UInt(TIOCOUTQ), &unacknowledged) == 0, unacknowledged > 0,
      poll(&state, 1, 1) == 0
    {}
  }

  /// Says that nothing more comes, and goes on reading.
  func endOutput() { shutdown(socket, Int32(SHUT_WR)) }

  /// Lets the kernel hold little of what has not been read.
  func shrinkReceiveBuffer() { setReceiveBuffer(bytes: 16 * 1024) }

  /// Lets it hold much again, so that the rest comes quickly.
  func growReceiveBuffer() { setReceiveBuffer(bytes: 1024 * 1024) }

  private func setReceiveBuffer(bytes: Int32) {
    var bytes = bytes
    setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &bytes, socklen_t(MemoryLayout<Int32>.size))
  }

  /// Sends a little after a moment's silence: bounded by the clock, since silence is what is
  /// tested.
  func trickle(_ text: String) {
    _ = poll(nil, 0, 80)
    send(text)
  }

  /// Reads so many bytes in 64 pieces, with a moment's silence before each.
  func readSlowly(_ length: Int) {
    var left = length - pending.count
    var buffer = [UInt8](repeating: 0, count: max(length / 64, 1))
    while left > 0 {
      _ = poll(nil, 0, 25)
      let count = recv(socket, &buffer, min(buffer.count, left), Int32(MSG_WAITALL))
      guard count > 0 else { return }
      left -= count
    }
  }

  /// Waits until the peer closes.
  func waitForEnd() { while fill(to: pending.count + 1) { pending.removeAll() } }

  func close() {
    guard socket >= 0 else { return }
    Glibc.close(socket)
    socket = -1
  }

  /// Ends the connection with a reset.
  func reset() {
    var option = linger(l_onoff: 1, l_linger: 0)
    setsockopt(
      socket, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    close()
  }
}

/// A request as it came over the wire.
struct RawRequest: Sendable {
  /// Everything up to and with the empty line.
  var head: [UInt8]
  var body: [UInt8] = []

  var text: String { String(decoding: head, as: UTF8.self) }
  var line: String { String(text.prefix { $0 != "\r\n" }) }

  /// The values of all fields of this name, which is in lower case.
  func values(_ name: String) -> [String] {
    text.split(separator: "\r\n").dropFirst().compactMap { field in
      let parts = field.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, parts[0].lowercased() == name else { return nil }
      return String(parts[1].drop { $0 == " " })
    }
  }
}

/// A list that several threads add to.
final class Log<Element: Sendable>: Sendable {
  private let entries = Mutex<[Element]>([])

  func add(_ entry: Element) { entries.withLock { $0.append(entry) } }
  var all: [Element] { entries.withLock { $0 } }
}

/// A gate that one thread opens for others, for good.
final class Gate: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)

  /// Lets through whoever waits, and whoever comes later.
  func open() { semaphore.signal() }

  /// Waits until it is open.
  func wait() {
    semaphore.wait()
    semaphore.signal()
  }

  /// Waits until it is open, without holding one of the tasks' threads up.
  func isOpen() async {
    await onThread { self.wait() }
  }
}

/// Does something that blocks on a thread of its own: the queues' threads are the tasks' as well,
/// and two that wait would hold all tests up.
func onThread<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
  await withCheckedContinuation { continuation in
    do throws(SystemError) {
      _ = try Thread.spawn(name: "blocking") { continuation.resume(returning: body()) }
    } catch {
      fatalError("no thread for a test: \(error)")
    }
  }
}
