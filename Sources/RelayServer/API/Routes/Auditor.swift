import HTTPServer
import RelayCore
import Synchronization

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

/// What the audit log keeps of the calls of a route.
struct AuditedAct: Sendable {
  /// What is done, as one word.
  let action: String
  /// To what it is done: a path below `/v1/`, with the captures of the route's own path in braces.
  let subject: String
  /// Whether a request only asks what there would be to do; that is not written down.
  let isTrial: @Sendable (HTTPRequest) throws(Problem) -> Bool

  init(
    _ action: String, _ subject: String,
    isTrial: @escaping @Sendable (HTTPRequest) throws(Problem) -> Bool = { _ in false }
  ) {
    self.action = action
    self.subject = subject
    self.isTrial = isTrial
  }

  /// The subject of one call, each name in percent-encoding.
  func subject(_ captures: PathCaptures) -> String {
    let segments = subject.split(separator: "/").map { segment in
      guard segment.first == "{" else { return String(segment) }
      let name = captures.decoded(String(segment.dropFirst().dropLast())) ?? ""
      return String(decoding: PercentEncoding.encode(name.utf8), as: UTF8.self)
    }
    return segments.joined(separator: "/")
  }
}

/// What an endpoint has to say of the act that it carries out, for the audit log.
final class ActNote: Sendable {
  private let words = Mutex<String?>(nil)

  /// What was said last; nil for nothing.
  var text: String? { words.withLock { $0 } }

  /// Says it; never a secret, nor anything of an envelope's content.
  func say(_ text: String) { words.withLock { $0 = text } }
}
