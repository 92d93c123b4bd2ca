import HTTPServer
import JSON
import RelayCore

/// `GET /v1/uploads` and `GET /v1/clients/{client}/uploads`: uploads in the order in which they
/// were begun, complete ones for as long as they are kept.
struct ListUploads {
  private let context: EndpointContext

  init(_ context: EndpointContext) { self.context = context }

  /// All uploads, or one client's.
  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    let parameters = try PageParameters(request.head.query, ["client", "after"])
    return try await answer(parameters, of: try parameters.name("client"))
  }

  /// The uploads of the client in the path.
  func respond(
    to request: HTTPRequest, of captures: PathCaptures
  ) async throws(Problem) -> HTTPResponse {
    let name = captures.decoded("client") ?? ""
    guard NameSyntax.isName(Array(name.utf8)[...]), context.caller.mayKnow(of: name) else {
      throw .unknownClient(name)
    }
    return try await answer(try PageParameters(request.head.query, ["after"]), of: name)
  }

  private func answer(
    _ parameters: PageParameters, of client: String?
  ) async throws(Problem) -> HTTPResponse {
    let start = try parameters.upload("after")
    let page = try await context.stored { () throws(StoreError) in
      try await context.store.uploads(of: client, after: start, countMax: parameters.limit)
    }
    let keptMs = Int64(context.relay.configuration.retention.uploadSeconds) * 1000
    var json = JSONWriter()
    json.object { json in
      json.memberArray("uploads") { json in
        for upload in page.uploads { upload.write(keptForMs: keptMs, to: &json) }
      }
      if page.hasMore, let last = page.uploads.last { json.member("next", last.id.description) }
    }
    return .freshJSON(json.finish())
  }
}

extension Upload {
  /// The view of an upload (`UploadView` in `openapi.yaml`); header fields may hold secrets, and
  /// are left out.
  fileprivate func write(keptForMs keptMs: Int64, to json: inout JSONWriter) {
    let draft = terms.draft
    json.object { json in
      json.member("id", id.description)
      json.member("client", draft.client)
      if let key = draft.key { json.member("key", key) }
      json.member("lane", draft.lane)
      json.member("upstream", draft.upstream)
      json.member("method", draft.content.method)
      json.name("path")
      json.string(utf8: draft.content.target)
      json.member("offset", offset)
      if let length { json.member("length", length) }
      json.member("complete", envelope != nil)
      if let envelope { json.member("envelope", envelope.description) }
      json.member("createdAt", id.createdAt)
      json.member("expiresAt", touchedAt.adding(milliseconds: keptMs))
    }
  }
}
