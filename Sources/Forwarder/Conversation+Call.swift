import Cryptography
import EventLoop
import RelayCore
import Synchronization

extension Conversation {
  /// A request.
  package struct Call {
    /// The method.
    package var method: String
    /// Path and query, escaped.
    package var target: String
    /// Header lines, as in `Accept: text/plain`, without control characters.
    package var fields: [String]
    /// The body.
    package var body: Content
    /// The longest time for all of it; nil for no limit.
    package var timeoutMs: Int?
    /// Is told how far it has come, some ten times a second; nil for nobody.
    package var progress: ((Progress) -> Void)?
    /// By which another thread may end it.
    package var stop: Stop?

    /// A request.
    package init(
      method: String, target: String, fields: [String], body: Content = .none,
      timeoutMs: Int? = nil, progress: ((Progress) -> Void)? = nil, stop: Stop? = nil
    ) {
      self.method = method
      self.target = target
      self.fields = fields
      self.body = body
      self.timeoutMs = timeoutMs
      self.progress = progress
      self.stop = stop
    }
  }

  /// The body of a request.
  package enum Content: Sendable {
    /// No body, and no word of one.
    case none
    /// These bytes; if there are none, the request says so.
    case bytes([UInt8])
    /// So many bytes, which are read while they are sent: those from a place on, as many as there
    /// are at a time, or nil if the request must not go on.
    case pieces(count: Int64, @Sendable (_ place: Int64) -> [UInt8]?)
  }

  /// How far a request has come, in bytes of bodies.
  package struct Progress: Equatable, Sendable {
    /// What has been sent.
    package let sent: Int64
    /// All that is to be sent.
    package let total: Int64
    /// What has come of the response.
    package let received: Int64
  }

  /// A certificate that is shown, as its files were when they were read.
  package struct Identity: Equatable, Sendable {
    let identity: ClientIdentity

    /// Reads both files (PEM).
    ///
    /// - Throws: The fault, and the file that has it.
    package init(certificate: String, key: String) throws(Failure) {
      do throws(TLSLoadError) {
        identity = try ClientIdentity(certificate: certificate, key: key)
      } catch {
        throw Failure(reason: error.description, mayPass: false)
      }
    }
  }

  /// Ends a request from another thread.
  package final class Stop: Sendable {
    private struct State {
      var isStopped = false
      var shared: SharedMulti?
    }

    private let state = Mutex(State())

    /// Something that ends a request; it has not been used.
    package init() {}

    /// Whether it was used.
    package var isStopped: Bool { state.withLock { $0.isStopped } }

    /// Ends the request, or the next one that it is given to.
    package func stop() {
      state.withLock { state in
        state.isStopped = true
        state.shared?.multi.wakeUp()
      }
    }

    func attach(_ shared: SharedMulti) { state.withLock { $0.shared = shared } }

    func detach() { state.withLock { $0.shared = nil } }
  }

  /// The multi handle of one conversation, held as long as another thread may wake it.
  final class SharedMulti: Sendable {
    let multi: CurlMulti

    /// One connection is used at a time; a second one is there while a dead one is given up.
    private static let connectionsMax = 2

    init() throws(SystemError) {
      multi = try CurlMulti(
        idleConnectionsMax: Self.connectionsMax, connections: OpenConnections())
    }
  }

  /// Tells how far a request has come, and not too often.
  struct ProgressWatch {
    /// The shortest time between two reports, in milliseconds.
    private static let pauseMs: Int64 = 100

    private let totalBytes: Int64
    private let tell: ((Progress) -> Void)?
    private var now = Progress(sent: 0, total: 0, received: 0)
    private var told: Progress?
    private var toldAt: MonotonicTime?

    init(totalBytes: Int64 = 0, tell: ((Progress) -> Void)? = nil) {
      self.totalBytes = totalBytes
      self.tell = tell
    }

    /// Notes how far it has come; told now, or later with what has come by then.
    mutating func note(sent: Int64, received: Int64) {
      guard tell != nil, sent > 0 || received > 0 else { return }
      now = Progress(sent: sent, total: totalBytes, received: received)
      let time = MonotonicClock.now()
      if let toldAt, time.milliseconds(since: toldAt) < Self.pauseMs { return }
      toldAt = time
      report()
    }

    /// Tells where it has ended.
    mutating func end() {
      guard now.sent > 0 || now.received > 0 else { return }
      report()
    }

    private mutating func report() {
      guard told != now else { return }
      told = now
      tell?(now)
    }
  }
}
