import Cryptography
import JSON
import RelayCore

/// All keys that a relay has signed receipts with, in their order; the last one is the present one.
///
/// Each but the first was signed by the one before it, so whoever trusts one can follow to those
/// after it. It is written as the JSON Web Key Set that the relay shows (RFC 7517 section 5).
package struct KeyRing: Sendable, Equatable {
  /// The keys, from the first to the present one: never empty.
  package private(set) var keys: [RingKey]

  /// The key that signs.
  package var present: RingKey { keys[keys.count - 1] }

  /// The type of the signed text by which a key names the next one.
  static let endorsementType = "waystation-key+jws"

  /// Begins a ring with one key.
  init(first key: Ed25519PublicKey, at now: WallTime) {
    keys = [RingKey(key, since: now.seconds)]
  }

  /// Has the present key sign a new one, which takes its place.
  ///
  /// - Parameter old: The present key.
  func rotated(from old: SigningKey, to new: Ed25519PublicKey, at now: WallTime) -> KeyRing {
    precondition(old.ed25519 == present.key, "the present key signs the next one")
    // A clock that was set back would have it retired before it was made.
    let moment = max(now.seconds, present.sinceSeconds)
    var ring = self
    ring.keys[keys.count - 1].untilSeconds = moment
    ring.keys.append(
      RingKey(
        new, since: moment,
        endorsement: old.jws(
          type: Self.endorsementType, kid: present.id, payload: new.jwk)))
    return ring
  }

  /// Whether who trusts a key of another ring can follow to the present key of this one.
  func continues(_ other: KeyRing) -> Bool {
    other.keys.map(\.id) == keys.prefix(other.keys.count).map(\.id)
  }

  // MARK: - As JSON

  /// The ring as a JSON Web Key Set.
  package var jwks: [UInt8] {
    var json = JSONWriter()
    json.object { json in
      json.memberArray("keys") { json in
        for key in keys { key.write(to: &json) }
      }
    }
    return json.finish()
  }

  /// What is wrong with a ring, in words that follow its file's name.
  package struct Damage: Error, Equatable {
    /// The words.
    package let reason: String
  }

  /// The keys that are trusted by whoever trusts one of them: that one, and those behind it; nil if
  /// it is none of the ring.
  package func keys(from pin: String) -> ArraySlice<RingKey>? {
    keys.firstIndex { $0.id == pin }.map { keys[$0...] }
  }

  /// Reads what ``jwks`` gave, and verifies that each key was signed by the one before it.
  package init(parsing bytes: [UInt8]) throws(Damage) {
    guard let document = try? JSONValue.parse(bytes), let list = try? document["keys"]?.array()
    else { throw Damage(reason: "is no JSON object with an array \"keys\"") }
    keys = []
    for value in list {
      guard let key = RingKey(value) else {
        throw Damage(reason: "has a key that no relay has written, at place \(keys.count + 1)")
      }
      guard key.isEndorsed(by: keys.last) else {
        throw Damage(reason: "has a key that the one before it has not signed: \(key.id)")
      }
      keys.append(key)
    }
    guard !keys.isEmpty else { throw Damage(reason: "has no keys") }
    guard keys.dropLast().allSatisfy({ $0.untilSeconds != nil }), present.untilSeconds == nil else {
      throw Damage(reason: "does not have the one key without \"exp\" at its end")
    }
  }
}

/// A key of a ring: the public part, and what is known of it.
package struct RingKey: Sendable, Equatable {
  /// The key itself.
  package let key: Ed25519PublicKey
  /// Its name (`kid`), which is its thumbprint.
  package let id: String
  /// The moment when it was made, in seconds since the Unix epoch (`nbf`).
  package let sinceSeconds: Int64
  /// The moment when it was retired, in seconds since the Unix epoch (`exp`); nil for the present
  /// one.
  package internal(set) var untilSeconds: Int64?
  /// The signed text by which the key before it names it; nil for the first.
  package let endorsement: String?

  /// The moments that a calendar has, up to the year 9999.
  private static let moments: ClosedRange<Int64> = 0...253_402_300_799

  init(
    _ key: Ed25519PublicKey, since: Int64, until: Int64? = nil, endorsement: String? = nil
  ) {
    self.key = key
    id = key.thumbprint
    sinceSeconds = since
    untilSeconds = until
    self.endorsement = endorsement
  }

  /// Whether a signature of a message is this key's.
  package func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
    key.verifies(signature, of: message)
  }

  /// Whether the key before it has signed it, or there is none.
  fileprivate func isEndorsed(by former: RingKey?) -> Bool {
    guard let former else { return endorsement == nil }
    guard let text = endorsement.flatMap(CompactJWS.init) else { return false }
    return text.payload == key.jwk && text.isSigned(by: former.key)
      && text.header == SigningKey.header(type: KeyRing.endorsementType, kid: former.id)
  }

  fileprivate func write(to json: inout JSONWriter) {
    json.object { json in
      json.member("kty", "OKP")
      json.member("crv", "Ed25519")
      json.member("x", Base64URL.encode(key.bytes))
      json.member("kid", id)
      json.member("use", "sig")
      json.member("alg", "EdDSA")
      json.member("nbf", sinceSeconds)
      if let untilSeconds { json.member("exp", untilSeconds) }
      if let endorsement { json.member("endorsement", endorsement) }
    }
  }

  /// Reads a member of the set; nil for a key of another kind, or one that something is wrong with.
  fileprivate init?(_ json: JSONValue) {
    guard json["kty"]?.equals("OKP") == true, json["crv"]?.equals("Ed25519") == true,
      let text = try? json["x"]?.string(), let bytes = Base64URL.decode(text),
      let key = Ed25519PublicKey(bytes), let since = try? json["nbf"]?.int64(),
      Self.moments.contains(since)
    else { return nil }
    var until: Int64?
    if let value = json["exp"] {
      guard let moment = try? value.int64(), Self.moments.contains(moment), moment >= since
      else { return nil }
      until = moment
    }
    var endorsement: String?
    if let value = json["endorsement"] {
      guard let text = try? value.string() else { return nil }
      endorsement = text
    }
    self.init(key, since: since, until: until, endorsement: endorsement)
    guard let id = try? json["kid"]?.string(), id == self.id else { return nil }
  }
}

extension SigningKey {
  /// A signed text that names its type and the key.
  func jws(type: String, kid: String, payload: [UInt8]) -> String {
    CompactJWS.text(header: Self.header(type: type, kid: kid), payload: payload, key: self)
  }

  /// The protected header of such a text, by a key of Ed25519 (RFC 8037 section 3.1).
  fileprivate static func header(type: String, kid: String) -> [UInt8] {
    var json = JSONWriter()
    json.object { json in
      json.member("alg", "EdDSA")
      json.member("kid", kid)
      json.member("typ", type)
    }
    return json.finish()
  }
}

extension WallTime {
  /// Whole seconds since the Unix epoch, as JSON Web Keys tell times.
  ///
  /// A clock before the epoch counts as being there.
  fileprivate var seconds: Int64 { max(0, millisecondsSinceEpoch / 1000) }
}
