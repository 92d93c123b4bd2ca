import HTTPServer
import JSON
import RelayCore

/// `GET /v1/audit`: who steered the relay, how and when, the newest first.
struct ListActs {
  private let context: EndpointContext

  init(_ context: EndpointContext) { self.context = context }

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    let parameters = try PageParameters(request.head.query, ["after", "subject"])
    let page = try await page(
      before: try parameters.cursor("after"), try Self.subject(parameters), parameters.limit)
    return .freshJSON(Self.json(page))
  }

  private static func subject(_ parameters: PageParameters) throws(Problem) -> String? {
    guard let subject = parameters.text("subject") else { return nil }
    guard (1...AuditAct.subjectBytesMax).contains(subject.utf8.count) else {
      throw .invalidField(
        "subject", "A subject is 1 to \(AuditAct.subjectBytesMax) bytes.",
        fix: "Give what an entry has as its subject, such as upstreams/default.")
    }
    return subject
  }

  private func page(
    before number: Int64?, _ subject: String?, _ limit: Int
  ) async throws(Problem) -> AuditPage {
    do throws(StoreError) {
      return try await context.store.acts(before: number, subject: subject, countMax: limit)
    } catch {
      throw context.problem(error)
    }
  }

  private static func json(_ page: AuditPage) -> [UInt8] {
    var json = JSONWriter()
    json.object { json in
      json.memberArray("entries") { json in
        for entry in page.entries { json.object { entry.writeMembers(to: &$0) } }
      }
      if page.hasMore, let last = page.entries.last { json.member("next", String(last.number)) }
    }
    return json.finish()
  }
}

extension AuditEntry {
  /// The view of an act (`AuditEntry` in `openapi.yaml`).
  fileprivate func writeMembers(to json: inout JSONWriter) {
    json.member("id", String(number))
    json.member("at", act.at)
    json.member("who", act.who)
    json.member("role", act.role)
    json.member("action", act.action)
    json.member("subject", act.subject)
    json.member("result", end.result.rawValue)
    if let status = end.status { json.member("status", status) }
    if let detail = end.detail { json.member("detail", detail) }
  }
}
