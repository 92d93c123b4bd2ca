import JSON
import RelayCore

/// The answer to a device that checks in (`CheckInAnswer` in `openapi.yaml`).
package struct CheckInView: Sendable {
  /// One lane, as the relay has it.
  package struct Lane: Sendable {
    /// The lane's name.
    package var name: String
    /// Up to where the relay has every number; nil if it has none.
    package var lastSequence: Int64?
    /// The greatest number that has come, parked ones counted; nil if it has none.
    package var highestSequence: Int64?
    /// The numbers that are missing below later ones.
    package var missing: MissingNumbers
    /// The device's numbers that it does not take any more.
    package var skipped: [SequenceRange]
    /// The device's numbers that it does not have yet; nil if the device named none.
    package var send: [SequenceRange]?
    /// The number of envelopes that wait in it.
    package var waiting: Int
    /// The envelope that blocks it; nil if none does.
    package var blockedBy: BlockedEnvelope?

    /// Describes a lane.
    package init(
      name: String, lastSequence: Int64?, highestSequence: Int64?, missing: MissingNumbers,
      skipped: [SequenceRange], send: [SequenceRange]?, waiting: Int
    ) {
      self.name = name
      self.lastSequence = lastSequence
      self.highestSequence = highestSequence
      self.missing = missing
      self.skipped = skipped
      self.send = send
      self.waiting = waiting
    }
  }

  /// The amount that the device may send now.
  package struct Allowance: Sendable, Equatable {
    /// The number of envelopes.
    package var envelopes: Int
    /// The number of bytes.
    package var bytes: Int64
    /// The most envelopes in one batch.
    package var envelopesPerBatch: Int
    /// The most bytes in one batch.
    package var bytesPerBatch: Int
    /// The most bytes of one envelope's body.
    package var bodyBytesMax: Int
    /// The time that the device should wait before it calls again, in seconds; nil if it need not
    /// wait.
    package var retryAfterSeconds: Int?

    /// Sets all of it.
    package init(
      envelopes: Int, bytes: Int64, envelopesPerBatch: Int, bytesPerBatch: Int,
      bodyBytesMax: Int, retryAfterSeconds: Int?
    ) {
      self.envelopes = envelopes
      self.bytes = bytes
      self.envelopesPerBatch = envelopesPerBatch
      self.bytesPerBatch = bytesPerBatch
      self.bodyBytesMax = bodyBytesMax
      self.retryAfterSeconds = retryAfterSeconds
    }
  }

  /// The upstream's answer to an envelope that has ended.
  package struct Response: Sendable {
    /// Those of its header fields that may pass.
    package var fields: RelayCore.HeaderBlock
    /// Its body, whole.
    package var body: [UInt8]

    /// Puts both together.
    package init(fields: RelayCore.HeaderBlock, body: [UInt8]) {
      self.fields = fields
      self.body = body
    }

    /// The bytes that it is counted as.
    package var byteCount: Int { fields.bytes.count + body.count }
  }

  /// When the credential ends by which the device was known; nil if it does not.
  package var credentialEndsAt: WallTime?
  /// The answers that are told, by the numbers of their endings.
  package var responses: [EndingNumber: Response] = [:]

  private let client: String
  private let time: WallTime
  private let lanes: [Lane]
  private let allowance: Allowance
  private let page: CheckInPage

  /// Puts an answer together.
  package init(
    client: String, time: WallTime, lanes: [Lane], allowance: Allowance, page: CheckInPage
  ) {
    self.client = client
    self.time = time
    self.lanes = lanes
    self.allowance = allowance
    self.page = page
  }

  /// The JSON that is answered.
  ///
  /// - Parameter results: Those of the envelopes that came with the question; nil if none did.
  package func json(with results: BatchResults? = nil) -> [UInt8] {
    var json = JSONWriter()
    json.object { json in
      json.member("client", client)
      json.member("time", time)
      if let results { json.member("results", raw: results.array()) }
      json.memberArray("lanes") { json in
        for lane in lanes { lane.write(to: &json) }
      }
      json.memberObject("maySend", allowance.write)
      if let seconds = allowance.retryAfterSeconds { json.member("retryAfterSeconds", seconds) }
      json.memberArray("ended") { json in
        for ending in page.endings { write(ending, to: &json) }
      }
      json.member("more", page.hasMore)
      if page.toldThrough > 0 { json.member("since", String(page.toldThrough)) }
      json.memberObject("relay", RelayFeatures.write)
      if let credentialEndsAt { json.member("credentialEndsAt", credentialEndsAt) }
    }
    return json.finish()
  }

  private func write(_ ending: ClientEnding, to json: inout JSONWriter) {
    let fate = ending.fate
    json.object { json in
      json.member("id", fate.id.description)
      if let key = ending.key { json.member("key", key) }
      json.member("lane", ending.lane)
      if let sequence = ending.sequence { json.member("sequence", sequence) }
      json.member("state", fate.state.rawValue)
      if let reason = fate.reason { json.member("reason", reason) }
      json.member("endedAt", fate.endedAt)
      json.member("attemptCount", fate.attemptCount)
      if let status = fate.responseStatus { json.member("responseStatus", status) }
      if let response = responses[ending.number] {
        json.memberObject("response", response.write)
      }
    }
  }
}

extension CheckInView.Response {
  fileprivate func write(to json: inout JSONWriter) {
    var names: [String] = []
    json.memberObject("headers") { json in
      for field in fields {
        let name = String(decoding: field.name, as: UTF8.self)
        guard !names.contains(where: { Self.isSame($0, field) }) else { continue }
        names.append(name)
        let values = fields.filter { Self.isSame(name, $0) }
          .map { String(decoding: $0.value, as: UTF8.self) }
        if values.count == 1 {
          json.member(name, values[0])
        } else {
          json.memberArray(name) { json in for value in values { json.string(value) } }
        }
      }
    }
    if let text = String(validating: body, as: UTF8.self) {
      json.member("body", text)
    } else {
      json.member("bodyBase64", Base64.text(of: body))
    }
  }

  private static func isSame(_ name: String, _ field: RelayCore.HeaderBlock.Field) -> Bool {
    FieldSyntax.equalIgnoringCase(Array(name.utf8)[...], field.name)
  }
}

extension CheckInView.Lane {
  fileprivate func write(to json: inout JSONWriter) {
    json.object { json in
      json.member("lane", name)
      if let lastSequence { json.member("lastSequence", lastSequence) }
      if let highestSequence { json.member("highestSequence", highestSequence) }
      json.member(missing)
      if !skipped.isEmpty { json.member("skipped", skipped) }
      if let send { json.member("send", send) }
      json.member("waiting", waiting)
      blockedBy?.writeForDevice(to: &json)
    }
  }
}

extension CheckInView.Allowance {
  fileprivate func write(to json: inout JSONWriter) {
    json.member("envelopes", envelopes)
    json.member("bytes", bytes)
    json.member("envelopesPerBatch", envelopesPerBatch)
    json.member("bytesPerBatch", bytesPerBatch)
    json.member("bodyBytesMax", bodyBytesMax)
  }
}
