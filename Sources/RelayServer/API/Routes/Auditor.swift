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

  /// Never inlined: most requests do nothing that is written down, and need no room for it in
  /// their tasks.
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

  /// The name of a caller without a credential, where none is needed.
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

/// The audit log's record of the calls of a route.
struct AuditedAct: Sendable {
  /// The action, as one word.
  let action: String
  /// The object: a path below `/v1/`, with the captures of the route's own path in braces.
  let subject: String
  /// True for a request that only asks what there would be to do, which is not written down.
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

/// An endpoint's note for the audit log on the act that it carries out.
final class ActNote: Sendable {
  private let words = Mutex<String?>(nil)

  /// The last note; nil if there is none.
  var text: String? { words.withLock { $0 } }

  /// Sets the note, which never holds a secret or anything of an envelope's content.
  func say(_ text: String) { words.withLock { $0 = text } }
}
