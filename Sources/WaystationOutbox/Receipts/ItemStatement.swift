import JSON
import RelayCore

/// What a device signs of an item: the payload of a JWS of the type ``type``, in the field
/// ``field`` of the item's request (`docs/receipts.md`, "Signed by the device").
package struct ItemStatement: Sendable, Equatable {
  /// The type of the JWS.
  package static let type: StaticString = "waystation-item+jws"
  /// The name of the request's field that has the JWS.
  package static let field = "Item-Signature"

  /// The item that the device has signed before it in the lane.
  package struct Former: Sendable, Equatable {
    /// Its number.
    package let sequence: UInt64
    /// The SHA-256 of its statement's payload.
    package let hash: [UInt8]

    /// The item of a number, with the hash of what was signed of it.
    package init(sequence: UInt64, hash: [UInt8]) {
      self.sequence = sequence
      self.hash = hash
    }
  }

  /// Whose lane it is.
  package let client: String
  /// The lane.
  package let lane: String
  /// The item's number.
  package let sequence: UInt64
  /// The digest of the item, `H(item(n))` of `docs/receipts.md`.
  package let digest: [UInt8]
  /// The item before it; nil if the device knows of none.
  package let former: Former?
  /// The numbers that the device has given up since it signed the one before.
  package let voids: [ClosedRange<UInt64>]
  /// Whether the device does not know what else was signed since the one before: it was restored,
  /// or signed nothing for a while.
  package let isAnew: Bool

  /// A statement.
  package init(
    client: String, lane: String, sequence: UInt64, digest: [UInt8], former: Former?,
    voids: [ClosedRange<UInt64>], isAnew: Bool
  ) {
    self.client = client
    self.lane = lane
    self.sequence = sequence
    self.digest = digest
    self.former = former
    self.voids = voids
    self.isAnew = isAnew
  }

  /// The payload.
  package var payload: [UInt8] {
    var json = JSONWriter(reserving: 384)
    json.object { json in
      json.member("client", client)
      json.member("lane", lane)
      json.member("sequence", sequence)
      json.member("digest", Base64URL.encode(digest))
      if let former {
        json.memberObject("former") { json in
          json.member("sequence", former.sequence)
          json.member("hash", Base64URL.encode(former.hash))
        }
      }
      if !voids.isEmpty {
        json.memberArray("voids") { json in
          for range in voids {
            json.object { json in
              json.member("first", range.lowerBound)
              json.member("last", range.upperBound)
            }
          }
        }
      }
      if isAnew { json.member("anew", true) }
    }
    return json.finish()
  }

  /// Reads a payload; nil if it is none.
  package init?(payload: [UInt8]) {
    guard let object = try? JSONValue.parse(payload).object(),
      let client = try? object["client"]?.string(), let lane = try? object["lane"]?.string(),
      let sequence = Self.number(object["sequence"]), let digest = Self.hash(object["digest"])
    else { return nil }
    var former: Former?
    if let value = object["former"] {
      guard let object = try? value.object(), let number = Self.number(object["sequence"]),
        let hash = Self.hash(object["hash"]), number < sequence
      else { return nil }
      former = Former(sequence: number, hash: hash)
    }
    var voids: [ClosedRange<UInt64>] = []
    if let value = object["voids"] {
      guard let array = try? value.array() else { return nil }
      for element in array {
        guard let range = try? element.object(), let first = Self.number(range["first"]),
          let last = Self.number(range["last"]), first <= last
        else { return nil }
        voids.append(first...last)
      }
    }
    self.init(
      client: client, lane: lane, sequence: sequence, digest: digest, former: former,
      voids: voids, isAnew: (try? object["anew"]?.bool()) == true)
  }

  private static func number(_ value: JSONValue?) -> UInt64? {
    guard let number = try? value?.int64(), number > 0 else { return nil }
    return UInt64(number)
  }

  private static func hash(_ value: JSONValue?) -> [UInt8]? {
    guard let text = try? value?.string(), let hash = Base64URL.decode(text), hash.count == 32
    else { return nil }
    return hash
  }

  // MARK: - The JWS

  /// What a key signs of a payload: the header and the payload (RFC 7515 section 5.1).
  package static func message(
    of payload: [UInt8], keyID: String, algorithm: String
  ) -> [UInt8] {
    let header = #"{"alg":"\#(algorithm)","kid":"\#(keyID)","typ":"\#(type)"}"#
    return Array((Base64URL.encode(header.utf8) + "." + Base64URL.encode(payload)).utf8)
  }

  /// The compact JWS of a message and its signature.
  package static func text(_ message: [UInt8], _ signature: [UInt8]) -> String {
    String(decoding: message, as: UTF8.self) + "." + Base64URL.encode(signature)
  }
}
