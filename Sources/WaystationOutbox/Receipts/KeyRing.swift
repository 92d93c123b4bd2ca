import JSON
import RelayCore

/// The relay's keys that are trusted: those that were pinned, and those that they lead to.
struct KeyRing: Sendable, Equatable {
  /// The names that the app has pinned; with others the ring begins anew.
  let pins: Set<String>
  /// The keys by name.
  private(set) var keys: [String: [UInt8]] = [:]

  /// Trusts nobody yet but what is pinned.
  init(_ pins: [KeyID]) { self.pins = Set(pins.map(\.thumbprint)) }

  /// Takes over what leads from a key that is trusted to others.
  ///
  /// Where nothing is pinned and nothing is trusted yet, the first key is trusted.
  mutating func follow(_ published: [PublishedKey], _ verifier: any ReceiptVerifier) {
    let trustsFirst = pins.isEmpty && keys.isEmpty
    var before: PublishedKey?
    for (index, key) in published.enumerated() {
      let isEndorsed =
        before.map { key.isEndorsed(by: $0.bytes, named: $0.id, verifier) } ?? false
      let isKnown = keys[key.id] == key.bytes || pins.contains(key.id)
      guard isKnown || isEndorsed || trustsFirst && index == 0 else {
        before = nil
        continue
      }
      keys[key.id] = key.bytes
      before = key
    }
  }

  // MARK: - As it is stored

  /// It as JSON.
  var json: String {
    var json = JSONWriter()
    json.object { json in
      json.memberArray("pins") { json in for pin in pins.sorted() { json.string(pin) } }
      json.memberObject("keys") { json in
        for (name, bytes) in keys.sorted(by: { $0.key < $1.key }) {
          json.member(name, Base64URL.encode(bytes))
        }
      }
    }
    return String(decoding: json.finish(), as: UTF8.self)
  }

  /// Takes up what was stored; nothing, if it was made of other pins.
  mutating func takeUp(_ stored: String) {
    guard let object = try? JSONValue.parse(Array(stored.utf8)).object(),
      let list = try? object["pins"]?.array(), let members = try? object["keys"]?.object(),
      Set(list.compactMap { try? $0.string() }) == pins
    else { return }
    for member in members {
      guard let text = try? member.value.string(), let bytes = Base64URL.decode(text) else {
        continue
      }
      keys[member.name.string] = bytes
    }
  }
}
