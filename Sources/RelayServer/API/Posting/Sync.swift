import HTTPServer
import RelayCore

/// `POST /v1/sync`: a batch of envelopes and a check-in, in one round trip.
struct Sync {
  private let context: EndpointContext

  init(_ context: EndpointContext) { self.context = context }

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    do throws(Problem) {
      return try await answer(to: request)
    } catch {
      context.relay.metrics.count(.rejected)
      throw error
    }
  }

  /// The envelopes are stored first, so that what the check-in tells has them.
  private func answer(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    var claim = try QuotaClaim(context, sender: context.caller.client)
    defer { claim.giveBack() }
    try CommandBody.check(request.head, isOneOf: ["application/x-ndjson"])
    var memory = MemoryReservation(context, request.origin)
    defer { memory.giveBack() }
    try memory.take(MemoryBudget.requestBytes)
    let text = try await PostBody(request, context).read(&memory)
    let lines = try BatchItems.ofLines(
      text, countMax: context.limits.batchCountMax, leadingCount: 1)
    let question = try question(lines.first.map { Array(text[$0]) })
    let items = Array(lines.dropFirst())
    let post = BatchPost(context, request.head)
    let results =
      items.isEmpty
      ? nil : try await post.store(items, of: text, assuming: question.client, &claim)
    // What was stored waits by now, and would be counted twice.
    claim.giveBack()
    var view = try await view(of: question, isStored: results != nil, &memory)
    await view.addReceipts(
      as: Preferences(request.head.values(of: "Prefer")), context, known: results?.receipts ?? [])
    let json = view.json(with: results)
    var response = HTTPResponse.freshJSON(json, holding: memory.handOver(json.count))
    if post.isStrict { response.headers.add("Preference-Applied", "handling=strict") }
    view.noteApplied(in: &response)
    if let seconds = results?.retryAfterSeconds { response.headers.add("Retry-After", seconds) }
    return response
  }

  private static let order =
    "The first line is the check-in's question, and envelopes stand behind it."

  /// What the first line asks.
  ///
  /// Who puts an envelope there is told what the line is for: its fields are right by themselves.
  private func question(_ line: [UInt8]?) throws(Problem) -> CheckInQuestion {
    guard let line else {
      throw .invalidField(
        "", "The body is empty. \(Self.order)",
        fix: #"Begin with a line such as {"client": "..."}, also where nothing is posted."#)
    }
    do throws(Problem) {
      return try CheckInQuestion(line, from: context.caller.client)
    } catch {
      var problem = error
      problem.detail = "\(Self.order) \(error.detail)"
      throw problem
    }
  }

  /// What the check-in tells.
  ///
  /// Once envelopes are stored, no trouble of its own keeps their results from the device, which
  /// would post them again: those without a key would be stored twice.
  private func view(
    of question: CheckInQuestion, isStored: Bool, _ memory: inout MemoryReservation
  ) async throws(Problem) -> CheckInView {
    let checkIn = CheckIn(context)
    do throws(Problem) {
      return try await checkIn.answer(to: question, &memory)
    } catch  where isStored {
      return checkIn.least(to: question)
    }
  }
}
