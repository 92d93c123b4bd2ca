import JSON
import RelayCore
import WaystationOutbox

extension RelayModel {
  // MARK: - Changes

  mutating func change(_ method: String, _ parts: [String], _ body: [UInt8]) -> Response {
    guard parts.count >= 5, let envelope = envelopes[parts[4]] else {
      return problem(404, "unknown-envelope", "there is no such envelope")
    }
    switch (method, parts.count > 5 ? parts[5] : "") {
    case ("GET", ""): break
    case ("DELETE", ""):
      guard !envelope.state.isOver else {
        return problem(409, "already-ended", "it has ended")
      }
      end(envelope.key, .cancelled, nil, "")
    case ("PATCH", "") where evidenceLanes.contains(envelope.lane):
      return problem(422, "invalid-field", "what came in an evidence lane stays as it came")
    case ("PATCH", ""):
      guard let object = try? JSONValue.parse(body).object() else {
        return problem(400, "malformed-json", "no patch")
      }
      if let path = try? object["path"]?.string() { envelopes[envelope.key]?.path = path }
      envelopes[envelope.key]?.sent = []
      if let text = try? object["body"]?.utf8() { envelopes[envelope.key]?.body = text }
    case ("POST", "resolve"):
      guard envelope.state == .blocked else {
        return problem(409, "not-blocked", "it does not block its lane")
      }
      if String(decoding: body, as: UTF8.self).contains("discard") {
        end(envelope.key, .failed, envelope.status, "")
      } else {
        envelopes[envelope.key]?.state = .queued
      }
    default: return problem(404, "not-found", "there is no such route")
    }
    handOn()
    return shown(envelope.key)
  }

  /// The answer to a question for an envelope, and to a change of it.
  private func shown(_ key: String) -> Response {
    var json = JSONWriter()
    json.object { json in
      json.member("id", envelopes[key]?.id ?? "")
      json.member("state", envelopes[key]?.state.rawValue ?? "")
      if let sequence = envelopes[key]?.sequence { json.member("sequence", sequence) }
    }
    return Response(
      status: 200, headers: [("Content-Type", "application/json")], body: json.finish())
  }
  // MARK: - Uploads

  mutating func beginUpload(
    _ method: String, _ path: String, _ field: (String) -> String?
  ) -> Response {
    guard let key = field("idempotency-key"), let lane = field("waystation-lane"),
      let length = field("upload-length").flatMap({ Int($0) })
    else { return problem(422, "missing-field", "no key, lane or length") }
    if let known = envelopes[key] { return accepted(known, isNew: false, field) }
    let target = "/" + path.split(separator: "/").dropFirst(3).joined(separator: "/")
    if uploads[key] == nil {
      uploads[key] = Upload(
        envelope: Envelope(
          id: "", key: key, lane: lane,
          sequence: field("waystation-sequence").flatMap { UInt64($0) },
          path: target, body: [], blocks: field("waystation-on-failure") == "block",
          state: .queued, expires: false, signature: field("item-signature")), length: length,
        method: method,
        type: field("content-type"))
    }
    return Response(
      status: 201,
      headers: [
        ("Location", "/v1/uploads/\(key)"), ("Upload-Offset", "\(uploads[key]?.bytes.count ?? 0)"),
      ], body: [])
  }

  mutating func goOn(
    _ method: String, _ path: String, _ field: (String) -> String?, _ body: [UInt8]
  ) -> Response {
    let key = String(path.split(separator: "/").last ?? "")
    guard let upload = uploads[key] else {
      let unknown = problem(404, "unknown-upload", "there is no such upload")
      return method == "HEAD" ? Response(status: 404, headers: [], body: []) : unknown
    }
    if method == "DELETE" {
      uploads[key] = nil
      return Response(status: 204, headers: [], body: [])
    }
    let offset = ("Upload-Offset", "\(upload.bytes.count)")
    if method == "HEAD" {
      let isOver = envelopes[key] != nil ? "?1" : "?0"
      return Response(status: 204, headers: [offset, ("Upload-Complete", isOver)], body: [])
    }
    guard field("upload-offset") == "\(upload.bytes.count)" else {
      let mismatch = problem(409, "mismatching-upload-offset", "it begins elsewhere")
      return Response(
        status: 409, headers: mismatch.headers + [offset], body: mismatch.body)
    }
    let count = upload.bytes.count + body.count
    guard field("upload-complete") == "?1" else {
      uploads[key]?.bytes += body
      return Response(status: 204, headers: [("Upload-Offset", "\(count)")], body: [])
    }
    guard count == upload.length else {
      return problem(400, "inconsistent-upload-length", "it has another length")
    }
    let envelope = upload.envelope
    let digest = Self.digest(
      client: clientName, key: key, lane: envelope.lane,
      sequence: envelope.sequence ?? 0, upstream: nil, method: upload.method, path: envelope.path,
      type: upload.type, body: upload.bytes + body)
    let result = place(
      key: key, lane: envelope.lane, sequence: envelope.sequence, path: envelope.path,
      upload.bytes + body, blocks: envelope.blocks, expires: false,
      digest: digest, signature: envelope.signature)
    receipts?.commit(lanes, at: wallMs)
    switch result {
    case .taken(let taken, let isNew):
      uploads[key]?.bytes += body
      handOn()
      return accepted(taken, isNew: isNew, field)
    case .void: return problem(422, "invalid-field", "it cannot be taken")
    case .rejected(let status, let name, let words):
      // Where only room is missing, the same may succeed later.
      if status == 422 || status == 409 { uploads[key] = nil }
      return problem(status, name, words)
    }
  }

  func accepted(
    _ envelope: Envelope, isNew: Bool, _ field: (String) -> String?
  ) -> Response {
    var json = JSONWriter()
    json.object { json in
      json.member("result", isNew ? "accepted" : "duplicate")
      json.member("id", envelope.id)
      if field("prefer") == "receipt", let receipts, receipts.chains[envelope.lane] != nil {
        json.name("receipt")
        receipts.write(envelope.lane, to: &json)
      }
    }
    return Response(status: 202, headers: [("Upload-Complete", "?1")], body: json.finish())
  }

  /// Forgets what a backup does not know: everything after it was made.
  package mutating func restore(_ backup: RelayModel) {
    let taken = (delivered, requests)
    let verdicts = verdicts
    let verdict = verdict
    let entropy = receipts?.entropy
    self = backup
    if let entropy { receipts?.entropy = entropy }
    // The upstream remembers what it was sent.
    (delivered, requests) = taken
    self.verdicts = verdicts
    self.verdict = verdict
  }
}
