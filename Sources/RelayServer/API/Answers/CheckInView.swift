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
    /// The numbers that are missing below later ones.
    package var missing: MissingNumbers
    /// The device's numbers that it does not take any more.
    package var skipped: [SequenceRange]
    /// The device's numbers that it does not have yet; nil if the device named none.
    package var send: [SequenceRange]?
    /// The number of envelopes that wait in it.
    package var waiting: Int

    /// Describes a lane.
    package init(
      name: String, lastSequence: Int64?, missing: MissingNumbers, skipped: [SequenceRange],
      send: [SequenceRange]?, waiting: Int
    ) {
      self.name = name
      self.lastSequence = lastSequence
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
  package func json() -> [UInt8] {
    var json = JSONWriter()
    json.object { json in
      json.member("client", client)
      json.member("time", time)
      json.memberArray("lanes") { json in
        for lane in lanes { lane.write(to: &json) }
      }
      json.memberObject("maySend", allowance.write)
      if let seconds = allowance.retryAfterSeconds { json.member("retryAfterSeconds", seconds) }
      json.memberArray("ended") { json in
        for ending in page.endings { Self.write(ending, to: &json) }
      }
      json.member("more", page.hasMore)
      if page.toldThrough > 0 { json.member("since", String(page.toldThrough)) }
    }
    return json.finish()
  }

  private static func write(_ ending: ClientEnding, to json: inout JSONWriter) {
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
    }
  }
}

extension CheckInView.Lane {
  fileprivate func write(to json: inout JSONWriter) {
    json.object { json in
      json.member("lane", name)
      if let lastSequence { json.member("lastSequence", lastSequence) }
      json.member(missing)
      if !skipped.isEmpty { json.member("skipped", skipped) }
      if let send { json.member("send", send) }
      json.member("waiting", waiting)
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
