import HTTPServer
import JSON
import RelayCore

extension EndpointContext {
  /// The envelope that a path names: by its id, or by its client and its sender's key.
  func envelopeID(_ captures: PathCaptures) async throws(Problem) -> EnvelopeID {
    if let key = captures.decoded("key") {
      let client = captures.decoded("client") ?? ""
      guard let id = try await id(of: key, of: client) else { throw .unknownKey(key, of: client) }
      return id
    }
    let text = captures.decoded("id") ?? ""
    guard let id = EnvelopeID(parsing: text) else { throw .unknownEnvelope(text) }
    return id
  }

  private func id(of key: String, of client: String) async throws(Problem) -> EnvelopeID? {
    guard NameSyntax.isName(Array(client.utf8)[...]), NameSyntax.isName(Array(key.utf8)[...]),
      caller.mayKnow(of: client)
    else { return nil }
    do throws(StoreError) {
      return try await store.envelope(client: client, key: key)
    } catch {
      throw problem(error)
    }
  }

  /// Returns the store's record of an envelope; a client does not find another client's.
  func record(_ id: EnvelopeID) async throws(Problem) -> EnvelopeRecord {
    do throws(StoreError) {
      if let record = try await store.envelope(id), caller.mayKnow(of: record.draft.client) {
        return record
      }
    } catch {
      throw problem(error)
    }
    throw .unknownEnvelope(id.description)
  }

  /// An envelope as it stands.
  func view(of record: EnvelopeRecord, progress: AttemptProgress? = nil) async -> HTTPResponse {
    .json(await shown(record, progress).json())
  }

  private func shown(
    _ record: EnvelopeRecord, _ progress: AttemptProgress?
  ) async -> EnvelopeView {
    let placement = relay.dispatcher.placement(of: record.entry.serial, in: record.lane)
    var view = EnvelopeView(
      record, isInFlight: placement.isInFlight, position: placement.position,
      now: relay.now().wall)
    view.progress = progress
    view.trace = relay.dispatcher.tracer.traceID(of: record)
    view.error = await upstreamError(of: record.id, record.state)
    if record.state == .queued { view.hindrance = await hindrance(of: record.entry) }
    return view
  }

  private func hindrance(of entry: LineEntry) async -> EnvelopeView.Hindrance? {
    guard let hindrance = relay.dispatcher.hindrance(of: entry) else { return nil }
    var behind: EnvelopeID?
    if let head = hindrance.behind { behind = try? await store.ids(of: [head])[head] }
    return EnvelopeView.Hindrance(cause: hindrance.cause, behind: behind)
  }

  /// What keeps those of some envelopes waiting that are queued.
  ///
  /// The store is asked once, for the heads of all their lanes.
  func hindrances(of envelopes: [EnvelopeSummary]) async -> [Serial: EnvelopeView.Hindrance] {
    let found = relay.dispatcher.hindrances(
      of: envelopes.filter { $0.fate.state == .queued }, to: relay.upstreamNumbers)
    let heads = Set(found.values.compactMap(\.behind))
    let ids = heads.isEmpty ? [:] : (try? await store.ids(of: Array(heads))) ?? [:]
    return found.mapValues { hindrance in
      EnvelopeView.Hindrance(cause: hindrance.cause, behind: hindrance.behind.flatMap { ids[$0] })
    }
  }

  /// An envelope as it stands, with how far its attempt has come.
  func viewWithProgress(of record: EnvelopeRecord) async -> HTTPResponse {
    .json(await jsonWithProgress(of: record))
  }

  /// The same, as JSON.
  func jsonWithProgress(of record: EnvelopeRecord) async -> [UInt8] {
    let progress =
      record.state == .queued ? await relay.dispatcher.progress(of: record.entry.serial) : nil
    return await shown(record, progress).json()
  }

  /// A page of the envelopes that pass a filter, with the upstream's own name of its error too.
  ///
  /// That name stands in the answer that the upstream gave, which is read for each envelope that
  /// passes all else. So a page looks at ``errorLooksMax`` of those, and may be short.
  ///
  /// - Throws: As the store's own `list`.
  func list(
    _ filter: EnvelopeFilter, after serial: Serial, countMax: Int, looksMax: Int
  ) async throws(StoreError) -> EnvelopePage {
    guard let wanted = filter.selection.errorID else {
      return try await store.list(filter, after: serial, countMax: countMax, looksMax: looksMax)
    }
    var page = try await store.list(
      filter, after: serial, countMax: Self.errorLooksMax, looksMax: looksMax)
    var passed: [EnvelopeSummary] = []
    for summary in page.envelopes where passed.count < countMax {
      let error = await upstreamError(of: summary.id, summary.fate.state)
      if error?.id == wanted { passed.append(summary) }
    }
    if passed.count == countMax, let last = passed.last, last.fate.serial < page.scannedThrough {
      page.scannedThrough = last.fate.serial
      page.hasMore = true
    }
    page.envelopes = passed
    return page
  }

  /// The most answers that are read for one page of a list.
  private static let errorLooksMax = 1000

  /// What the upstream said when it refused an envelope in this state; nil if it did not refuse it,
  /// said nothing, or the store cannot be read just now.
  func upstreamError(of id: EnvelopeID, _ state: EnvelopeState) async -> ErrorDocument? {
    guard state == .blocked || state == .failed, let answer = try? await store.response(id) else {
      return nil
    }
    return ErrorDocument(answer)
  }
}

extension EndpointContext {
  /// Returns the seconds that the query's `wait` asks for; 0 if it is not there.
  func waitSeconds(_ query: ArraySlice<UInt8>?) throws(Problem) -> Int {
    guard query != nil else { return 0 }
    let secondsMax = limits.waitSecondsMax
    let rule = "a whole number of seconds from 0 to \(secondsMax)"
    let text: String?
    do throws(QueryParameters.Failure) {
      text = try QueryParameters(query).single("wait")
    } catch {
      let fix = "Give wait once, as \(rule)."
      throw error == .malformedEncoding
        ? .malformedQuery("wait", fix: fix)
        : .invalidField("wait", "wait is given twice.", fix: fix)
    }
    guard let text else { return 0 }
    guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let seconds = Int(text),
      (0...secondsMax).contains(seconds)
    else { throw .invalidField("wait", "wait is \(text.quoted); it has to be \(rule).") }
    return seconds
  }
}
