import HTTPServer
import RelayCore

/// Writes down what is done to the relay before it is done, and what came of it before that is
/// answered.
///
/// In one place for all routes, by ``Route/act``, so that none can leave it out. What a
/// client does to its own envelopes stands in the log of events, and not here.
struct Auditor {
  let context: EndpointContext

  /// Has an act carried out.
  ///
  /// - Parameter carryOut: Does it, and says what there is to say of it.
  /// - Throws: A problem if it could not be written down, so that it was not done.
  func watch(
    _ request: HTTPRequest, _ route: Route, _ captures: PathCaptures,
    _ carryOut: (EndpointContext) async -> HTTPResponse
  ) async throws(Problem) -> HTTPResponse {
    guard let act = route.act, context.caller.client == nil, try !act.isTrial(request) else {
      return await carryOut(context)
    }
    return try await watch(act.action, on: act.subject(captures), carryOut)
  }

  /// By itself: most requests do nothing that is written down, and need no room for it.
  @inline(never)
  private func watch(
    _ action: String, on subject: String,
    _ carryOut: (EndpointContext) async -> HTTPResponse
  ) async throws(Problem) -> HTTPResponse {
    let act = AuditAct(
      at: context.relay.now().wall, who: context.caller.publicName ?? Self.nobody,
      role: role, action: action, subject: subject)
    let number: Int64
    do throws(StoreError) {
      number = try await context.store.beginAct(act)
    } catch {
      if context.relay.isDraining { throw .draining() }
      throw context.problem(error)
    }
    let note = ActNote()
    let response = await carryOut(context.with(note))
    await end(number, response.status, note)
    return response
  }

  /// What who shows no credential is called, where none is needed.
  static let nobody = "anonymous"

  private var role: String {
    if case .operator(let role) = context.caller.kind { role.rawValue } else { Self.nobody }
  }

  /// An act whose end cannot be written down stays as begun: it was done all the same.
  private func end(_ number: Int64, _ status: Int, _ note: ActNote) async {
    let end = AuditEnd(Self.result(of: status), status: status, detail: note.text)
    do throws(StoreError) {
      try await context.store.endAct(number, end)
    } catch {
      _ = context.problem(error)
    }
  }

  private static func result(of status: Int) -> AuditEnd.Result {
    switch status {
    case ..<400: .done
    case ..<500: .refused
    default: .failed
    }
  }
}
