import HTTPServer
import RelayCore
import Synchronization

/// The things that endpoints share, made anew for each request.
///
/// A class, and none of it changes: whoever waits for the store keeps a reference of it in each of
/// its calls, and not a copy.
final class EndpointContext: Sendable {
  let relay: RelayParts
  /// The configured rules of accepting envelopes, as they were when the request came.
  let rules: AcceptanceRules
  let clientNumbers: ClientNumbers
  /// The caller whose request is being answered.
  let caller: Caller
  /// The request's origin.
  let origin: RequestOrigin
  /// The audit log's note of the act that is carried out; nil if the act is not written down.
  let act: ActNote?
  /// The access log's note of the request; nil where no access log is kept.
  let accessNote: AccessNote?

  /// The context of a relay before any request.
  convenience init(_ relay: RelayParts) {
    self.init(relay, relay.settings.rules, ClientNumbers(), .anonymous, .loopback, nil, nil)
  }

  private init(
    _ relay: RelayParts, _ rules: AcceptanceRules, _ clientNumbers: ClientNumbers, _ caller: Caller,
    _ origin: RequestOrigin, _ act: ActNote?, _ accessNote: AccessNote?
  ) {
    self.relay = relay
    self.rules = rules
    self.clientNumbers = clientNumbers
    self.caller = caller
    self.origin = origin
    self.act = act
    self.accessNote = accessNote
  }

  /// The same for a request of this caller's.
  func with(_ caller: Caller, from origin: RequestOrigin) -> EndpointContext {
    EndpointContext(relay, relay.settings.rules, clientNumbers, caller, origin, act, accessNote)
  }

  /// The same for a request that stands in the access log.
  func with(_ note: AccessNote) -> EndpointContext {
    EndpointContext(relay, rules, clientNumbers, caller, origin, act, note)
  }

  /// The same for an act that is written down.
  func with(_ act: ActNote) -> EndpointContext {
    EndpointContext(relay, rules, clientNumbers, caller, origin, act, accessNote)
  }

  var store: any EnvelopeStore { relay.store }
  var limits: LimitsConfiguration { rules.limits }

  /// Those of some envelopes that the caller may know of; all, kept or not, if it is no client.
  func ownEnvelopes(among ids: [EnvelopeID]) async throws(Problem) -> Set<EnvelopeID> {
    guard caller.client != nil, !ids.isEmpty else { return Set(ids) }
    do throws(StoreError) {
      let known = try await store.summaries(of: ids)
      return Set(known.lazy.filter { [caller] in caller.mayKnow(of: $0.terms.client) }.map(\.id))
    } catch {
      throw problem(error)
    }
  }

  /// Returns an envelope's answer as it goes on to its sender.
  func upstreamAnswer(to record: EnvelopeRecord) -> UpstreamAnswer {
    let name = record.draft.upstream
    let answers = rules.upstream(named: name)?.answers
    return UpstreamAnswer(to: record, answers ?? AnswerRules(upstream: name, url: nil))
  }

  /// Returns the problem for trouble in the store, and writes the rest into the log.
  func problem(_ error: StoreError) -> Problem {
    if error.kind != .closed {
      relay.log.repeating(
        .error, "store trouble", about: "\(error.kind)", .usual,
        ("error", .text(error.description)))
    }
    return Problem(error)
  }
}

extension HTTPResponse {
  /// An answer in JSON.
  static func json(_ bytes: [UInt8], status: Int = 200) -> HTTPResponse {
    HTTPResponse(status: status, headers: jsonFields, body: .bytes(bytes))
  }

  private static let jsonFields: ResponseFields = {
    var fields = ResponseFields()
    fields.add("Content-Type", "application/json")
    return fields
  }()

  /// The bytes of a large answer that are written at a time.
  private static let pieceBytes = 64 * 1024

  /// An answer in JSON that nobody may keep, whose memory is held until it is written.
  static func freshJSON(_ bytes: [UInt8], holding memory: HeldMemory) -> HTTPResponse {
    var response = HTTPResponse.freshJSON(bytes)
    // A small one is written at once, or is counted with its connection.
    guard bytes.count > pieceBytes else { return response }
    let place = Mutex(0)
    response.body = .source(length: Int64(bytes.count)) {
      withExtendedLifetime(memory) {
        place.withLock { place in
          let end = min(bytes.count, place + pieceBytes)
          defer { place = end }
          return place < end ? Array(bytes[place..<end]) : nil
        }
      }
    }
    return response
  }

  /// An answer in JSON that nobody may keep.
  static func freshJSON(_ bytes: [UInt8], status: Int = 200) -> HTTPResponse {
    var response = HTTPResponse.json(bytes, status: status)
    response.headers.add("Cache-Control", "no-store")
    return response
  }
}

extension Problem {
  /// Returns the problem for a body that could not be read.
  ///
  /// The HTTP server answers that by itself, so this one is seen only where it does not; but for
  /// what was cut off for want of memory.
  init(_ error: RequestBodyError, bytesMax: Int) {
    switch error {
    case .tooLarge: self = .bodyTooLarge(bytesMax: bytesMax)
    case .malformed, .disconnected: self = .malformedRequest("The body is not properly framed.")
    case .timedOut: self = .requestTimeout("The body did not go on in time.")
    case .cutOff: self = .gaveWay()
    }
  }
}
