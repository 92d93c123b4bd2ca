import HTTPServer
import JSON
import RelayCore

/// `GET /v1/lanes`: lanes in the order in which they were first used; one client's, or those that
/// are blocked, paused, or have something waiting.
struct ListLanes {
  private let context: EndpointContext

  init(_ context: EndpointContext) { self.context = context }

  /// A lane as it is listed.
  private struct Row {
    var number: LaneNumber
    var name: LaneName
    var facts: LaneFacts
  }

  private struct Page {
    var rows: [Row] = []
    var next: LaneNumber?
  }

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    let parameters = try PageParameters(request.head.query, ["client", "state", "after"])
    let client = try parameters.name("client")
    let condition = try Self.condition(parameters)
    let after = try parameters.cursor("after").map { LaneNumber(rawValue: $0) }
    return try await answer(client, condition, after, parameters.limit)
  }

  private func answer(
    _ client: String?, _ condition: LaneCondition?, _ after: LaneNumber?, _ limit: Int
  ) async throws(Problem) -> HTTPResponse {
    do throws(StoreError) {
      var page: Page
      if let condition, client == nil {
        page = try await conditional(condition, after, limit)
      } else {
        page = try await named(client, after, limit)
      }
      if let condition { page.rows.removeAll { !$0.facts.meets(condition) } }
      return .freshJSON(try await json(page))
    } catch {
      throw context.problem(error)
    }
  }

  /// Lists lanes by what the dispatcher knows.
  private func conditional(
    _ condition: LaneCondition, _ after: LaneNumber?, _ limit: Int
  ) async throws(StoreError) -> Page {
    let dispatcher = context.relay.dispatcher
    let found = await dispatcher.lanes(that: condition, after: after, countMax: limit + 1)
    let numbers = Array(found.prefix(limit))
    let names = try await context.store.laneNames(numbers)
    var page = Page()
    for (number, facts) in zip(numbers, dispatcher.facts(of: numbers)) {
      guard let name = names[number] else { continue }
      page.rows.append(Row(number: number, name: name, facts: facts))
    }
    if found.count > limit { page.next = numbers.last }
    return page
  }

  /// Lists lanes by what the store knows, those in which nothing waits included.
  private func named(
    _ client: String?, _ after: LaneNumber?, _ limit: Int
  ) async throws(StoreError) -> Page {
    let found = try await context.store.lanes(of: client, after: after, countMax: limit)
    let facts = context.relay.dispatcher.facts(of: found.lanes.map(\.number))
    var page = Page()
    page.rows = zip(found.lanes, facts).map { Row(number: $0.number, name: $0.name, facts: $1) }
    if found.hasMore { page.next = found.lanes.last?.number }
    return page
  }

  private func json(_ page: Page) async throws(StoreError) -> [UInt8] {
    let heads = page.rows.compactMap { row in
      row.facts.isBlocked ? row.facts.head.map { (lane: row.number, head: $0) } : nil
    }
    let blocked = try await context.blockedLanes(heads)
    var json = JSONWriter()
    json.object { json in
      json.memberArray("lanes") { json in
        for row in page.rows { write(row, blocked[row.number], to: &json) }
      }
      if let next = page.next { json.member("next", String(next.rawValue)) }
    }
    return json.finish()
  }

  private func write(
    _ row: Row, _ blocked: StatusView.BlockedLane?, to json: inout JSONWriter
  ) {
    json.object { json in
      json.member("client", row.name.client)
      json.member("lane", row.name.lane)
      json.member("waiting", row.facts.waiting)
      if let blocked {
        json.memberObject("blocked") { json in
          json.member("envelope", blocked.envelope.description)
          json.member("reason", blocked.reason)
          json.member("since", blocked.since)
        }
      }
      json.member("paused", row.facts.isPaused)
      let rules = context.rules.lanes.rules(ofLane: row.name.lane)
      if rules.isEvidence { json.member("evidence", true) }
    }
  }

  private static func condition(_ parameters: PageParameters) throws(Problem) -> LaneCondition? {
    guard let word = parameters.text("state") else { return nil }
    guard let condition = LaneCondition(rawValue: word) else {
      let known = LaneCondition.allCases.map(\.rawValue)
      throw .invalidField(
        "state", "There is no state \(word.quoted) that lanes are listed by.",
        fix: "Give one of \(known.joined(separator: ", ")), or leave state out.")
    }
    return condition
  }
}

extension LaneFacts {
  /// Whether the lane stands so; it may have changed since it was found.
  fileprivate func meets(_ condition: LaneCondition) -> Bool {
    switch condition {
    case .blocked: isBlocked
    case .paused: isPaused
    case .waiting: waiting > 0
    }
  }
}
