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
    /// It as JSON: what it takes in memory, and on the way, is known before it is told.
    package let json: [UInt8]

    /// Puts together those of its header fields that may pass, and its body, whole.
    package init(fields: RelayCore.HeaderBlock, body: [UInt8]) {
      var json = JSONWriter()
      json.object { json in Self.write(fields, body, to: &json) }
      self.json = json.finish()
    }
  }

  /// When the credential ends by which the device was known; nil if it does not.
  package var credentialEndsAt: WallTime?
  /// Until when the device can renew that credential; nil if it cannot.
  package var credentialRenewableUntil: WallTime?
  /// The receipts of the lanes that are told, if they were asked for; nil if not.
  package var receipts: [ReceiptView]?
  /// Whether uploads may be begun.
  package var takesUploads = true
  /// Whether the relay makes receipts.
  package var makesReceipts = false
  /// The answers that are told, by the numbers of their endings.
  package var responses: [EndingNumber: Response] = [:]

  /// The client that checks in.
  package let client: String
  private let time: WallTime
  /// The lanes that are told.
  package let lanes: [Lane]
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
    var json = JSONWriter(reserving: byteCountExpected)
    json.object { json in
      json.member("client", client)
      json.member("time", time)
      if let results { json.member("results", raw: results.array()) }
      json.memberArray("lanes") { json in
        for lane in lanes { lane.write(to: &json) }
      }
      if let receipts {
        json.memberArray("receipts") { json in
          for receipt in receipts { receipt.write(to: &json) }
        }
      }
      json.memberObject("maySend", allowance.write)
      if let seconds = allowance.retryAfterSeconds { json.member("retryAfterSeconds", seconds) }
      json.memberArray("ended") { json in
        for ending in page.endings { write(ending, to: &json) }
      }
      json.member("more", page.hasMore)
      if page.toldThrough > 0 { json.member("since", String(page.toldThrough)) }
      json.memberObject("relay") {
        RelayFeatures.write(to: &$0, uploads: takesUploads, receipts: makesReceipts)
      }
      json.member("credentialEndsAt", credentialEndsAt)
      json.member("credentialRenewableUntil", credentialRenewableUntil)
    }
    return json.finish()
  }

  /// Roughly; what grows by doubling would take twice as much.
  private var byteCountExpected: Int {
    2048 + 512 * page.endings.count + responses.values.reduce(0) { $0 + $1.json.count }
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
        json.member("response", raw: response.json)
      }
    }
  }
}

extension CheckInView.Response {
  private static func write(
    _ fields: RelayCore.HeaderBlock, _ body: [UInt8], to json: inout JSONWriter
  ) {
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
    if !isLong(asText: body), let text = String(validating: body, as: UTF8.self) {
      json.member("body", text)
    } else {
      json.member("bodyBase64", Base64.text(of: body))
    }
  }

  /// Whether a body would take more than twice its bytes as a text in JSON: a control character
  /// takes six.
  private static func isLong(asText body: [UInt8]) -> Bool {
    var more = 0
    for byte in body {
      switch byte {
      case 0x08, 0x09, 0x0A, 0x0C, 0x0D, UInt8(ascii: "\""), UInt8(ascii: "\\"): more += 1
      case ..<0x20: more += 5
      default: break
      }
    }
    return more > body.count
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
