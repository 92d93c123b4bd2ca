import EventLoop
import Forwarder
import Glibc
import RelayCore
import WaystationOutbox

/// A request, and what is done with its answer.
struct RequestJob: Sendable {
  let request: CurlRequest
  let finish: @Sendable (Result<Response, SendFailure>) -> Void

  init(
    request: CurlRequest,
    _ finish: @escaping @Sendable (Result<Response, SendFailure>) -> Void
  ) {
    self.request = request
    self.finish = finish
  }
}

/// As many threads as there are requests at a time, and the connections that they keep.
///
/// A thread that has had nothing to do for a while ends, and takes with it the connections that
/// nobody has used meanwhile.
final class RequestThreads: Sendable {
  /// A kept connection.
  // Sound: it is in the table, or in the hands of one thread.
  private struct Kept: @unchecked Sendable {
    let conversation: Conversation
    let identity: Conversation.Identity?
    var usedAt: MonotonicTime
  }

  private struct State {
    var jobs: [RequestJob] = []
    var threads = 0
    var idleThreads = 0
    var kept: [CurlRequest.Peer: [Kept]] = [:]
    var isClosed = false
  }

  let options: CurlTransport.Options
  private let state = Monitor(State())

  init(_ options: CurlTransport.Options) { self.options = options }

  /// Lets the threads end once nothing is to be done.
  func close() { state.updateWakingAll { $0.isClosed = true } }

  /// Has a thread do something.
  func push(_ job: RequestJob) {
    let mustSpawn = state.update { state in
      state.jobs.append(job)
      guard state.idleThreads < state.jobs.count else { return false }
      state.threads += 1
      return true
    }
    guard mustSpawn else { return }
    do throws(SystemError) {
      _ = try Thread.spawn(name: "outbox-curl") { self.work() }
    } catch {
      notSpawned(error)
    }
  }

  /// Another thread does the job, if there is one.
  private func notSpawned(_ error: SystemError) {
    let left = state.access { state in
      state.threads -= 1
      guard state.threads == 0 else { return [RequestJob]() }
      defer { state.jobs = [] }
      return state.jobs
    }
    for job in left { job.finish(.failure(.unsendable("there is no room for a thread: \(error)"))) }
  }

  // MARK: - On a thread

  private func work() {
    // OpenSSL would raise it where a peer is gone.
    Signals.block([SIGPIPE])
    while let job = next() {
      let result: Result<Response, SendFailure>
      do throws(SendFailure) {
        result = .success(try carryOut(job.request))
      } catch {
        result = .failure(error)
      }
      job.finish(result)
    }
  }

  /// The next job; nil if the thread is to end.
  private func next() -> RequestJob? {
    state.access { $0.idleThreads += 1 }
    let deadline = MonotonicClock.now().adding(milliseconds: options.idleTimeout.wholeMilliseconds)
    let job: RequestJob?? = state.wait(until: deadline) { state in
      if !state.jobs.isEmpty { return .some(Self.take(&state)) }
      return state.isClosed ? .some(nil) : nil
    }
    if let job = job ?? nil { return job }
    // A job may have come for this thread just now.
    let (last, dropped) = state.access { state in
      if !state.jobs.isEmpty { return (Self.take(&state), [Kept]()) }
      state.idleThreads -= 1
      state.threads -= 1
      return (nil, dropUnused(&state))
    }
    // Closing a connection may take a moment: not within the lock.
    withExtendedLifetime(dropped) {}
    return last
  }

  private static func take(_ state: inout State) -> RequestJob? {
    state.idleThreads -= 1
    return state.jobs.removeFirst()
  }

  /// Takes out the connections that nobody has used for long; with the last thread all of them.
  private func dropUnused(_ state: inout State) -> [Kept] {
    let since = MonotonicClock.now().adding(
      milliseconds: -options.idleTimeout.wholeMilliseconds)
    let isLast = state.threads == 0
    var dropped: [Kept] = []
    for (peer, kept) in state.kept {
      let used = isLast ? [] : kept.filter { $0.usedAt > since }
      dropped += isLast ? kept : kept.filter { $0.usedAt <= since }
      state.kept[peer] = used.isEmpty ? nil : used
    }
    return dropped
  }

  private func carryOut(_ request: CurlRequest) throws(SendFailure) -> Response {
    guard !request.stop.isStopped else { throw .unsendable("the request was given up here") }
    var kept: Kept
    do throws(Conversation.Failure) {
      kept = try conversation(for: request)
    } catch {
      throw request.failure(error)
    }
    // One that has failed has no connection that is worth keeping.
    let response = try request.send(over: kept.conversation)
    kept.usedAt = MonotonicClock.now()
    state.access { $0.kept[request.peer, default: []].append(kept) }
    return response
  }

  private func conversation(for request: CurlRequest) throws(Conversation.Failure) -> Kept {
    let identity = try identity(request.peer.identity)
    let found = state.access { $0.kept[request.peer]?.popLast() }
    // Its files may hold another certificate by now.
    if let found, found.identity == identity { return found }
    let conversation = try Conversation(
      with: .url(request.peer.origin), certificates: try certificates(), identity: identity,
      connectTimeoutMs: max(1, Int(clamping: options.connectTimeout.wholeMilliseconds)),
      mayRepeat: false)
    return Kept(conversation: conversation, identity: identity, usedAt: MonotonicClock.now())
  }

  private func identity(
    _ identity: TLSIdentity?
  ) throws(Conversation.Failure) -> Conversation.Identity? {
    switch identity {
    case nil: return nil
    case .pem(let certificate, let key):
      return try Conversation.Identity(certificate: certificate, key: key)
    case .keychain:
      throw Conversation.Failure(
        reason: "libcurl knows no key chain; name the certificate's and the key's file",
        mayPass: false)
    }
  }

  private func certificates()
    throws(Conversation.Failure) -> UpstreamTarget.CertificateAuthorities
  {
    guard let path = options.certificates else { return .system }
    do throws(UpstreamTargetError) {
      return try UpstreamTarget.CertificateAuthorities(reading: path)
    } catch {
      throw Conversation.Failure(reason: error.description, mayPass: false)
    }
  }
}
