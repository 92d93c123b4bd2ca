import JSON
import RelayCore

/// The first event of a stream: the present state, as far as the filter goes.
struct EventSnapshot {
  private let context: EndpointContext

  init(_ context: EndpointContext) { self.context = context }

  /// The data of the event (`EventSnapshot` in `openapi.yaml`): the envelope, the client, the
  /// upstream, or all that `/status` shows; by the narrowest thing that the filter names.
  func json(_ filter: EventFilter) async throws(StoreError) -> [UInt8] {
    let (name, value) = try await part(filter)
    var json = JSONWriter()
    json.object { json in
      json.member("at", context.relay.now().wall)
      if let value { json.member(name, raw: value) }
    }
    return json.finish()
  }

  /// An envelope that is not kept any more has no part.
  private func part(_ filter: EventFilter) async throws(StoreError) -> (String, [UInt8]?) {
    if let id = filter.envelope {
      guard let record = try await context.store.envelope(id) else { return ("envelope", nil) }
      return ("envelope", await context.jsonWithProgress(of: record))
    }
    if let name = filter.client {
      let view = try await GetClient(context).knownView(of: name)
      return ("client", (view ?? ClientView(client: name, lanes: [])).json())
    }
    if let name = filter.upstream {
      return ("upstream", try await ListUpstreams(context).view().json(upstream: name))
    }
    return ("status", try await GetStatus(context).view().json())
  }
}
