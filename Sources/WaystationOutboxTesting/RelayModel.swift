import JSON
import RelayCore
import WaystationOutbox

/// A relay in memory, with its upstream: what a device may rely on, without sockets, disks and
/// time.
///
/// It keeps keys and numbers as a relay does, hands on in the order of each lane, and remembers
/// what the upstream was sent.
package struct RelayModel: Sendable {
  /// What the upstream makes of a request.
  package enum Verdict: Sendable, Equatable {
    /// It takes it, with this answer.
    case take(status: Int, body: String)
    /// It refuses it.
    case refuse(status: Int, body: String)
    /// It is away.
    case away
  }

  /// One envelope.
  package struct Envelope: Sendable, Equatable {
    let id: String
    /// The sender's name for it.
    package let key: String
    /// The lane that it stands in.
    package let lane: String
    /// Its number there; nil for none.
    package let sequence: UInt64?
    /// The path that it goes to.
    package internal(set) var path: String
    /// The body.
    package internal(set) var body: [UInt8]
    let blocks: Bool
    var state: State
    var status: Int?
    var answer = ""
    let expires: Bool
    /// What a receipt covers of it.
    var digest: [UInt8] = []
    /// The digest of what was sent, also where no receipts are made; none once it was changed here.
    package internal(set) var sent: [UInt8] = []
    /// The device's signature.
    package internal(set) var signature: String?

    /// What the upstream says of a mistake; nil if its answer is no document that does.
    var error: ErrorDocument? {
      ErrorDocument(Array(answer.utf8), contentType: "application/json")
    }
  }

  /// Where an envelope is.
  enum State: String, Sendable {
    case parked, queued, blocked, delivered, failed, cancelled, expired

    var isOver: Bool {
      switch self {
      case .delivered, .failed, .cancelled, .expired: true
      case .parked, .queued, .blocked: false
      }
    }
  }

  struct Lane: Sendable {
    /// Up to where every number has come.
    var last: UInt64 = 0
    var isNumbered = false
    /// The numbers above that have come, or are void.
    var come: Set<UInt64> = []
    /// Those that are taken no more.
    var skipped: Set<UInt64> = []
    /// The envelopes that have numbers.
    var keys: [UInt64: String] = [:]
    /// The envelopes of the lane, in the order in which they are handed on.
    var line: [String] = []
  }

  /// An upload that goes on.
  struct Upload: Sendable {
    var envelope: Envelope
    var length: Int
    var method: String
    var type: String?
    var bytes: [UInt8] = []
  }

  var envelopes: [String: Envelope] = [:]
  /// The names of the lanes, in the order in which they came.
  var lanes: [String] = []
  var lanesByName: [String: Lane] = [:]
  var ends: [String] = []
  var nextID = 1
  var uploads: [String: Upload] = [:]
  /// Whose envelopes they are.
  var clientName = "device"
  /// The receipts; nil if none are made.
  var receipts: ModelReceipts?
  /// What the upstream was sent and took, in its order.
  package internal(set) var delivered: [Envelope] = []
  /// All that the upstream was sent, also what it refused.
  package internal(set) var requests: [Envelope] = []
  /// What the upstream makes of a path.
  package var verdicts: [String: Verdict] = [:]
  /// What the upstream makes of any other path.
  package var verdict = Verdict.take(status: 200, body: "")
  /// The envelopes that the relay has room for; nil for any number.
  package var roomMax: Int?
  /// The paths whose next envelope is not taken; its number is passed by at once.
  package var refusedOnce: Set<String> = []
  /// The token that is accepted; nil for none.
  package var token: String?
  /// The largest post, in bytes.
  package var bodyBytesMax = 32 << 20
  /// The relay's time of day.
  package var wallMs: Int64 = 1_800_000_000_000

  /// A relay without envelopes.
  package init() {}

  // MARK: - Requests

  /// The answer to a request.
  package mutating func respond(
    _ method: String, _ path: String, _ headers: [(String, String)], _ body: [UInt8]
  ) -> Response {
    func field(_ name: String) -> String? {
      headers.first { $0.0.lowercased() == name }?.1
    }
    if let token, field("authorization") != "Bearer \(token)" {
      return problem(401, "unauthenticated", "the token is not known")
    }
    let parts = path.split(separator: "/").map(String.init)
    switch (method, parts.dropFirst().first) {
    case ("POST", "sync"): return sync(body, wantsReceipts: field("prefer") == "receipt")
    case ("GET", "waystation"):
      guard let receipts else { return problem(404, "not-found", "there is no such route") }
      return Response(
        status: 200, headers: [("Content-Type", "application/jwk-set+json")], body: receipts.keySet)
    case ("GET", "clients") where parts.count == 3: return client()
    case ("GET", "clients") where parts.count == 6 && parts[5].hasPrefix("ledger"):
      return ledger(parts[4], query: parts[5].dropFirst("ledger?".count))
    case (_, "clients"): return change(method, parts, body)
    case (_, "relay"): return beginUpload(method, path, field)
    case (_, "uploads"): return goOn(method, path, field, body)
    default: return problem(404, "not-found", "there is no such route")
    }
  }

  func problem(_ status: Int, _ name: String, _ words: String) -> Response {
    var json = JSONWriter()
    Self.write(status, name, words, to: &json)
    return Response(
      status: status, headers: [("Content-Type", "application/problem+json")],
      body: json.finish())
  }

  static func write(
    _ status: Int, _ name: String, _ words: String, to json: inout JSONWriter
  ) {
    json.object { json in
      json.member("type", "urn:waystation:problem:\(name)")
      json.member("title", name)
      json.member("status", status)
      json.member("detail", words)
    }
  }
}
