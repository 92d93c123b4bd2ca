import Forwarder
import RelayCore
import Synchronization

/// Envelopes that are to go together, with those contents that are at hand.
struct PendingBatch: Sendable {
  var entries: [LineEntry]
  /// The most bytes that several have together, where the upstream has shown a limit.
  var bytesMax: Int?
  var contents: [Serial: DeliverableEnvelope] = [:]
  /// What their senders said of them; empty unless they go to another relay.
  var terms: [Serial: SenderTerms] = [:]

  /// The envelopes that have to be read.
  var missing: [Serial] { entries.map(\.serial).filter { contents[$0] == nil } }
}

/// The requests under way to upstreams whose envelopes go together, by the envelope that each is
/// known by to the forwarder.
final class BatchesInFlight: Sendable {
  /// One request.
  struct Request {
    /// The envelopes in it, in their order.
    let members: [Serial]
    /// Where it went.
    let target: UpstreamTarget
    let upstream: UpstreamNumber
    /// Its `Idempotency-Key`.
    let key: String
    /// The bytes of its body, before it was compressed.
    let bytes: Int
    /// The form in which they are in it.
    let form: BatchForm
    let isCompressed: Bool
  }

  private let requests = Mutex<[Serial: Request]>([:])
  /// Where envelopes went that have a request of their own.
  private let alone = Mutex<[Serial: UpstreamTarget]>([:])

  /// Whether nothing is under way to such an upstream.
  ///
  /// A request is added before it is sent. So none that has ended was missed.
  var isEmpty: Bool { requests.withLock { $0.isEmpty } && alone.withLock { $0.isEmpty } }

  func add(_ request: Request) { requests.withLock { $0[request.members[0]] = request } }

  /// Adds the request of one envelope's own.
  func add(alone serial: Serial, to target: UpstreamTarget) {
    alone.withLock { $0[serial] = target }
  }

  /// Whether a request is under way to such an upstream.
  func contains(_ serial: Serial) -> Bool {
    requests.withLock { $0[serial] != nil } || alone.withLock { $0[serial] != nil }
  }

  /// A request that has ended; nil for one that is a single envelope's.
  func take(_ serial: Serial) -> Request? {
    requests.withLock { $0.isEmpty ? nil : $0.removeValue(forKey: serial) }
  }

  /// Where an envelope went whose own request has ended; nil for any other.
  func takeAlone(_ serial: Serial) -> UpstreamTarget? {
    alone.withLock { $0.isEmpty ? nil : $0.removeValue(forKey: serial) }
  }
}

// Requests that carry several envelopes.
extension Dispatcher {
  /// Sends envelopes together, after those that are not at hand were read.
  func begin(_ batch: PendingBatch) {
    let goesToRelay = batch.entries.first.map(isHandedOn(_:)) ?? false
    guard goesToRelay || !batch.missing.isEmpty else { return submit(batch, unreadable: []) }
    Task(executorPreference: loop) { [self] in
      var batch = batch
      let unreadable = await read(&batch)
      if goesToRelay {
        guard let terms = await terms(of: batch.entries) else {
          return withdrawLater(batch.entries.map(\.serial))
        }
        batch.terms = terms
      }
      submit(batch, unreadable: unreadable)
    }
  }

  /// Reads what is not at hand.
  ///
  /// - Returns: Those that cannot be read. They go by themselves, and are told of by themselves.
  private func read(_ batch: inout PendingBatch) async -> Set<Serial> {
    let missing = batch.missing
    guard !missing.isEmpty else { return [] }
    do throws(StoreError) {
      for envelope in try await store.load(missing) { batch.contents[envelope.serial] = envelope }
      return []
    } catch {
      // One that cannot be read must not keep the others from going together.
      var unreadable: Set<Serial> = []
      for serial in missing {
        do throws(StoreError) {
          for envelope in try await store.load([serial]) { batch.contents[serial] = envelope }
        } catch {
          unreadable.insert(serial)
        }
      }
      return unreadable
    }
  }

  private func submit(_ batch: PendingBatch, unreadable: Set<Serial>) {
    guard let upstream = batch.entries.first?.upstream,
      let target = targets.withLock({ $0[upstream] }), let form = target.batch
    else {
      // Another configuration has come in between, by which the scheduler decides anew.
      return withdraw(batch.entries.map(\.serial))
    }
    guard form.isRelay == !batch.terms.isEmpty || batch.contents.isEmpty else {
      return withdraw(batch.entries.map(\.serial))
    }
    let request = BatchRequest(
      of: batch.entries, batch.contents, terms: batch.terms, unreadable: unreadable, as: form,
      bytesMax: batch.bytesMax)
    guard let first = request.members.first else { return sendAlone(request, of: batch) }
    leaveOut(request, of: batch)
    guard let entry = batch.entries.first(where: { $0.serial == first.serial }) else { return }
    guard form.isCompressed, !codingRefusals.contains(upstream) else {
      return begin(request, request.content, as: entry, of: batch, to: target, form)
    }
    Task(executorPreference: loop) { [self] in
      // Milliseconds of work for a large one, which the loop's other work is not to wait for.
      let content = await Task.detached { request.content.compressed() }.value
      begin(request, content, as: entry, of: batch, to: target, form)
    }
  }

  /// Where nothing goes together, the first that needs a request of its own has this one's place.
  private func sendAlone(_ request: BatchRequest, of batch: PendingBatch) {
    let first = request.alone.first
    leaveOut(request, of: batch, butFor: first)
    guard let entry = batch.entries.first(where: { $0.serial == first }) else { return }
    let pending = PendingLoad(entry: entry)
    guard let envelope = batch.contents[entry.serial], !envelope.references,
      !envelope.hasBodyToCheck, batch.terms.isEmpty
    else { return load([pending]) }
    guard let attempt = self.request(envelope, pending) else { return withdraw([entry.serial]) }
    submit([attempt], to: state.withLock { $0.forwarder })
  }

  private func begin(
    _ request: BatchRequest, _ content: EnvelopeContent, as entry: LineEntry,
    of batch: PendingBatch, to target: UpstreamTarget, _ form: BatchForm
  ) {
    let sent = BatchesInFlight.Request(
      members: request.members.map(\.serial), target: target, upstream: entry.upstream,
      key: request.idempotencyKey, bytes: request.body.count,
      form: form,
      isCompressed: content.headers.contains { $0.isNamed("Content-Encoding") })
    tell(sent: sent, bytes: content.body.byteCount)
    trace(request, of: batch, to: target, key: sent.key)
    var attempt = AttemptRequest(
      request.members[0], attempt: entry.attempts + 1, acceptedAt: entry.acceptedAt, target: target)
    attempt.content = content
    attempt.idempotencyKey = sent.key
    attempt.batchCount = sent.members.count
    attempt.responseBodyBytesMax = BatchAnswer.bytesMax
    batchesInFlight.add(sent)
    metrics.countBatch(of: sent.members.count, to: entry.upstream)
    guard store.mayAttempt else {
      return suspend(withdrawing: batchesInFlight.take(sent.members[0])?.members ?? [])
    }
    guard let forwarder = state.withLock({ $0.forwarder }), forwarder.submit([attempt]) else {
      return withdraw(batchesInFlight.take(sent.members[0])?.members ?? [])
    }
  }

  /// Hands back what does not go along, with its contents.
  ///
  /// - Parameter sent: One that is sent by itself in the request's place.
  private func leaveOut(
    _ request: BatchRequest, of batch: PendingBatch, butFor sent: Serial? = nil
  ) {
    let alone = request.alone.filter { $0 != sent }
    let others = alone + request.left
    guard !others.isEmpty || !request.vanished.isEmpty || sent != nil else { return }
    apply { state, now in
      for serial in others {
        if let content = batch.contents[serial] { state.contents.insert(content) }
      }
      for serial in request.vanished.reversed() {
        state.scheduler.attemptVanished(serial, now: now)
      }
      state.scheduler.leftOut(alone: alone, left: request.left, sent: sent, now: now)
    }
  }

  /// Each member has an attempt of its own in its trace; the request itself belongs to none.
  private func trace(
    _ request: BatchRequest, of batch: PendingBatch, to target: UpstreamTarget, key: String
  ) {
    guard tracer.isOn || log.isOn(.debug) else { return }
    let entries = Dictionary(uniqueKeysWithValues: batch.entries.map { ($0.serial, $0) })
    var attempts: [AttemptRequest] = []
    for member in request.members {
      guard let entry = entries[member.serial] else { continue }
      var attempt = AttemptRequest(
        member, attempt: entry.attempts + 1, acceptedAt: entry.acceptedAt, target: target)
      tracer.begin(&attempt, of: member, in: entry.lane)
      attempts.append(attempt)
    }
    tell(attempts: attempts, togetherAs: key)
  }

  // MARK: - The end

  /// A request that has ended.
  struct EndedBatch {
    let request: BatchesInFlight.Request
    /// Its own end.
    let event: AttemptEvent
    /// One for each of its envelopes, in their order.
    let reports: [AttemptReport]
    let subject: BatchAnswerSubject
  }

  /// The ends of requests, one for each envelope in them.
  struct EndedAttempts {
    /// All of it, as if each envelope had had a request of its own.
    var batch = AttemptBatch()
    /// Those that had a request of their own.
    var single: [AttemptReport] = []
    /// Those that went together.
    var together: [EndedBatch] = []
  }

  /// The most bytes of an answer that are read at once, while the ends of others wait.
  private static let promptBytesMax = 64 * 1024

  /// Takes those ends out of the others whose answers take long to read: milliseconds, as a few
  /// bytes may be packed millions.
  func takeLong(from batch: inout AttemptBatch) -> [AttemptBatch] {
    guard !batchesInFlight.isEmpty, batch.reports.contains(where: isLong(_:)) else { return [] }
    var long: [AttemptBatch] = []
    for report in batch.reports where isLong(report) {
      var one = AttemptBatch()
      one.reports = [report]
      one.masks[report.serial] = batch.masks[report.serial]
      long.append(one)
    }
    batch.reports.removeAll(where: isLong(_:))
    return long
  }

  private func isLong(_ report: AttemptReport) -> Bool {
    guard case .answered(let response) = report.event, !response.body.isEmpty else { return false }
    let isLong =
      response.body.count > Self.promptBytesMax || response.headers.has("Content-Encoding")
    return isLong && batchesInFlight.contains(report.serial)
  }

  /// Says of each envelope what the ends of requests mean for it.
  func parted(_ batch: AttemptBatch) -> EndedAttempts {
    guard !batchesInFlight.isEmpty else {
      var ended = EndedAttempts(batch: batch, single: batch.reports)
      for index in ended.single.indices { ended.single[index].noteWords() }
      return ended
    }
    var ended = EndedAttempts()
    for report in batch.reports {
      if let request = batchesInFlight.take(report.serial) {
        var (reports, subject) = reports(of: request, report, batch.masks[report.serial])
        for index in reports.indices { reports[index].noteWords() }
        ended.together.append(
          EndedBatch(request: request, event: report.event, reports: reports, subject: subject))
        continue
      }
      var report = report
      if let target = batchesInFlight.takeAlone(report.serial) {
        report.readAlone(from: target, batch.masks[report.serial])
      }
      report.noteWords()
      ended.single.append(report)
    }
    ended.batch.reports = ended.single + ended.together.flatMap(\.reports)
    for serial in batch.withdrawn {
      _ = batchesInFlight.takeAlone(serial)
      ended.batch.withdrawn += batchesInFlight.take(serial)?.members ?? [serial]
    }
    return ended
  }

  private func reports(
    of request: BatchesInFlight.Request, _ report: AttemptReport, _ tokenMask: CredentialMask?
  ) -> (reports: [AttemptReport], subject: BatchAnswerSubject) {
    var report = report
    if request.form.isRelay {
      let bytesMax = BatchAnswer.unpackedBytesMax(
        count: request.members.count, bodyBytesMax: request.target.responseBodyBytesMax)
      report.unpack(from: request.target, tokenMask, bytesMax: bytesMax)
    }
    if request.form.isRelay, case .answered(let response) = report.event,
      RelayRefusal(response) != nil
    {
      // No sender's credential stands in a post of several.
      report.read(fromRelay: request.target, showsToken: true)
      return (report.each(request.members, report.event), .whole)
    }
    guard case .answered(let response) = report.event else {
      return (report.each(request.members, report.event), .whole)
    }
    switch BatchAnswer(
      response, to: request.form, count: request.members.count,
      bodyBytesMax: request.target.responseBodyBytesMax)
    {
    case .whole(let shared):
      let isOfCoding = request.isCompressed && response.mayRefuseGzip
      if request.form.isRelay {
        if RelayRefusal.isOfRequest(response) { report.isUnclear = true }
        report.isOfClient = RelayRefusal.isOfClient(response)
      }
      return (report.each(request.members, .answered(shared)), isOfCoding ? .coding : .whole)
    case .unreadable(let reason):
      let event = AttemptEvent.failed(.malformedResponse, detail: "the upstream \(reason)")
      return (report.each(request.members, event), .unreadable)
    case .unfitting(let reason):
      report.isUnsettled = true
      let event = AttemptEvent.failed(.malformedResponse, detail: "the upstream \(reason)")
      return (report.each(request.members, event), .unreadable)
    case .each(let responses):
      var reports = report.each(request.members, report.event)
      // What came compressed could not be searched for credentials before.
      let wasPacked = response.headers.first("Content-Encoding") != nil
      for index in reports.indices {
        var own = responses[index]
        if wasPacked {
          own = request.target.credentials.masked(own)
          if let tokenMask { own = tokenMask.masked(own) }
        }
        reports[index].event = .answered(own)
        guard request.form.isRelay else { continue }
        // The post was taken, so the token is good as such.
        reports[index].read(fromRelay: request.target, showsToken: false)
      }
      return (reports, .each)
    }
  }
}

extension AttemptReport {
  /// Notes what the upstream said, if it has not taken the envelope.
  fileprivate mutating func noteWords() {
    guard case .answered(let response) = event, !(200..<300).contains(response.status) else {
      return
    }
    words = UpstreamWords.find(in: response)
  }

  /// The same for each of several envelopes, with another end.
  fileprivate func each(_ members: [Serial], _ event: AttemptEvent) -> [AttemptReport] {
    members.map { serial in
      var report = self
      report.serial = serial
      report.event = event
      return report
    }
  }
}
