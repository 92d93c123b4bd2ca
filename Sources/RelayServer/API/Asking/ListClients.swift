import HTTPServer
import JSON
import RelayCore

/// `GET /v1/clients`: all clients by name, or those whose names begin with something.
struct ListClients {
  private let context: EndpointContext

  init(_ context: EndpointContext) { self.context = context }

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    let parameters = try PageParameters(request.head.query, ["search", "after"])
    let page = try await page(
      prefix: try parameters.name("search") ?? "", after: try parameters.name("after") ?? "",
      parameters.limit)
    return .freshJSON(json(page))
  }

  private func page(
    prefix: String, after name: String, _ limit: Int
  ) async throws(Problem) -> ClientPage {
    do throws(StoreError) {
      return try await context.store.clients(prefix: prefix, after: name, countMax: limit)
    } catch {
      throw context.problem(error)
    }
  }

  private func json(_ page: ClientPage) -> [UInt8] {
    let facts = context.relay.dispatcher.facts(of: page.clients)
    var json = JSONWriter()
    json.object { json in
      json.memberArray("clients") { json in
        for (client, facts) in zip(page.clients, facts) {
          json.object { json in
            json.member("client", client.name)
            json.member("waiting", facts.waiting)
            if facts.blocked > 0 { json.member("blocked", facts.blocked) }
            json.member("paused", facts.isPaused)
            json.member("oldestWaitingAt", facts.oldestWaitingAt)
          }
        }
      }
      if page.hasMore, let last = page.clients.last { json.member("next", last.name) }
    }
    return json.finish()
  }
}
