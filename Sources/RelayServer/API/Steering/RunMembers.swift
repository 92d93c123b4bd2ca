import RelayCore

/// Finds what a run is about.
struct RunMembers {
  private let context: EndpointContext
  private let filter: RunFilter
  /// The tags that the filter stands for; nil if it goes by none.
  private let tags: Set<String>?

  /// The most envelopes that are read at a time, and the most stored ones that are looked at for
  /// that.
  private static let pageCountMax = 1000
  private static let looksMax = 100_000

  /// - Throws: `unknown-collection`.
  init(_ context: EndpointContext, _ filter: RunFilter) throws(Problem) {
    self.context = context
    self.filter = filter
    switch filter {
    case .collection(let name):
      let known = context.relay.configuration.collections
      guard let collection = known.first(where: { $0.name == name }) else {
        throw .unknownCollection(name, near: NearestWord.find(name, in: known.map(\.name)))
      }
      tags = Set(collection.tags)
    case .tag(let tag): tags = [tag]
    case .everything, .lane, .ids: tags = nil
    }
  }

  /// Returns the record of a client; nil if nothing of it was ever accepted.
  func client(named name: String) async throws(Problem) -> ClientRecord? {
    guard NameSyntax.isName(Array(name.utf8)[...]), context.caller.mayKnow(of: name) else {
      return nil
    }
    do throws(StoreError) {
      return try await context.store.client(name)
    } catch {
      throw context.problem(error)
    }
  }

  /// Reads the envelopes that wait now and pass the filter.
  ///
  /// Named ones are all read, with the reason if they do not wait.
  func read(
    of client: ClientRecord, _ name: String
  ) async throws(RunBook.Failure) -> [RunMember] {
    do throws(StoreError) {
      if case .ids(let ids) = filter { return try await named(ids, name) }
      let lanes = client.lanes.map(\.number)
      if let entries = context.relay.dispatcher.waitingInMemory(lanes, of: client.number) {
        return try await known(entries)
      }
    } catch {
      throw .unreadable(error)
    }
    return try await listed(name)
  }

  private func named(
    _ ids: Set<EnvelopeID>, _ client: String
  ) async throws(StoreError) -> [RunMember] {
    var members: [RunMember] = []
    var unknown = ids
    for summary in try await context.store.summaries(of: Array(ids))
    where summary.terms.client == client {
      unknown.remove(summary.id)
      members.append(
        summary.fate.state.isEnd
          ? RunMember(summary, passedOver: .ended) : RunMember(summary))
    }
    members += unknown.map {
      RunMember($0, serial: context.store.serial(in: $0), passedOver: .unknown)
    }
    return members.sorted { $0.serial < $1.serial }
  }

  /// Everything that waits of the client, by its places in the line.
  private func known(_ entries: [LineEntry]) async throws(StoreError) -> [RunMember] {
    var members: [RunMember] = []
    var start = 0
    while start < entries.count {
      let end = min(start + Self.pageCountMax, entries.count)
      let ids = try await context.store.ids(of: entries[start..<end].map(\.serial))
      let summaries = try await context.store.summaries(of: Array(ids.values))
      members += summaries.filter(passes).map { RunMember($0) }
      start = end
    }
    return members.sorted { $0.serial < $1.serial }
  }

  private func passes(_ summary: EnvelopeSummary) -> Bool {
    guard !summary.fate.state.isEnd else { return false }
    if case .lane(let lane) = filter, summary.terms.lane != lane { return false }
    guard let tags else { return true }
    return summary.terms.tag.map(tags.contains) ?? false
  }

  /// The members found in the line, from its start to its end.
  private func listed(_ client: String) async throws(RunBook.Failure) -> [RunMember] {
    var wanted = EnvelopeFilter(
      client: client, states: EnvelopeState.waiting)
    if case .lane(let lane) = filter { wanted.selection.lane = lane }
    wanted.anyOfTags = tags
    var members: [RunMember] = []
    var after: Serial = 0
    while true {
      let page: EnvelopePage
      do throws(StoreError) {
        page = try await context.store.list(
          wanted, after: after, countMax: Self.pageCountMax, looksMax: Self.looksMax)
      } catch {
        throw .unreadable(error)
      }
      members += page.envelopes.map { RunMember($0) }
      guard members.count <= RunBook.Limits.membersMax else { throw .tooLarge }
      guard page.hasMore else { return members }
      after = page.scannedThrough
    }
  }
}

extension RunMember {
  fileprivate init(_ summary: EnvelopeSummary, passedOver reason: RunSkip) {
    self.init(summary.id, serial: summary.fate.serial, passedOver: reason)
  }

  fileprivate init(_ summary: EnvelopeSummary) {
    if summary.fate.state == .parked {
      self.init(summary, passedOver: .parked)
      return
    }
    self.init(
      id: summary.id, serial: summary.fate.serial, lane: summary.lane,
      isHeld: summary.fate.state == .held, notBefore: summary.terms.notBefore)
  }
}
