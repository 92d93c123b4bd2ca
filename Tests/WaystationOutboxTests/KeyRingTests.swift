import JSON
import RelayCore
import Testing
import WaystationOutboxTesting

@testable import WaystationOutbox

@Suite("Which keys of a relay are trusted")
struct KeyRingTests {
  private static let verifier = TestReceiptVerifier()
  private static let keys = (1...4).map { TestKey($0) }

  /// A ring as a relay shows it: keys, and who has signed each.
  private static func ring(
    _ entries: [(key: TestKey, signer: TestKey?, named: TestKey)]
  ) throws -> [PublishedKey] {
    var json = JSONWriter()
    json.object { json in
      json.memberArray("keys") { json in
        for (key, signer, named) in entries {
          json.object { json in
            json.member("kty", "OKP")
            json.member("crv", "Ed25519")
            json.member("x", key.text)
            json.member("kid", key.id)
            guard let signer else { return }
            let payload = #"{"crv":"Ed25519","kty":"OKP","x":"\#(named.text)"}"#
            json.member(
              "endorsement", signer.sign(type: "waystation-key+jws", Array(payload.utf8)))
          }
        }
      }
    }
    return try #require(KeySet.keys(json.finish(), verifier))
  }

  /// Keys of which each has signed the next one.
  private static func honest(_ keys: [TestKey]) throws -> [PublishedKey] {
    try ring(keys.enumerated().map { ($1, $0 == 0 ? nil : keys[$0 - 1], $1) })
  }

  private static func trusted(
    _ published: [PublishedKey], pins: [TestKey] = []
  ) -> Set<String> {
    var ring = KeyRing(pins.map { KeyID($0.id) })
    ring.follow(published, verifier)
    return Set(ring.keys.keys)
  }

  private static func names(_ keys: [TestKey]) -> Set<String> { Set(keys.map(\.id)) }

  @Test("without pins the first one, and those that it leads to")
  func first() throws {
    #expect(Self.trusted(try Self.honest(Self.keys)) == Self.names(Self.keys))
  }

  @Test("from a pinned one on, those that it leads to, and none before it")
  func pinned() throws {
    let trusted = Self.trusted(try Self.honest(Self.keys), pins: [Self.keys[2]])
    #expect(trusted == Self.names([Self.keys[2], Self.keys[3]]))
    #expect(Self.trusted(try Self.honest(Self.keys), pins: [TestKey(9)]).isEmpty)
  }

  @Test("not what another key has signed, and nothing behind it")
  func broken() throws {
    let keys = Self.keys
    let strange = try Self.ring([
      (keys[0], nil, keys[0]), (keys[1], TestKey(9), keys[1]), (keys[2], keys[1], keys[2]),
    ])
    #expect(Self.trusted(strange) == Self.names([keys[0]]))
    let another = try Self.ring([(keys[0], nil, keys[0]), (keys[1], keys[0], keys[2])])
    #expect(Self.trusted(another) == Self.names([keys[0]]))
    let unsigned = try Self.ring([(keys[0], nil, keys[0]), (keys[1], nil, keys[1])])
    #expect(Self.trusted(unsigned) == Self.names([keys[0]]))
  }

  @Test("those that are trusted once, also where the relay shows only later ones")
  func goesOn() throws {
    var ring = KeyRing([])
    ring.follow(try Self.honest(Array(Self.keys[..<2])), Self.verifier)
    ring.follow(try Self.honest([TestKey(9)]), Self.verifier)
    #expect(Set(ring.keys.keys) == Self.names(Array(Self.keys[..<2])))
    ring.follow(try Self.honest(Array(Self.keys[1...])), Self.verifier)
    #expect(Set(ring.keys.keys) == Self.names(Self.keys))
  }

  @Test("what was stored is taken up under the same pins alone")
  func stored() throws {
    var ring = KeyRing([])
    ring.follow(try Self.honest(Self.keys), Self.verifier)
    var same = KeyRing([])
    same.takeUp(ring.json)
    #expect(same == ring)
    var other = KeyRing([KeyID(Self.keys[0].id)])
    other.takeUp(ring.json)
    #expect(other.keys.isEmpty)
  }

  @Test("the verifier for tests makes SHA-256 as FIPS 180-4 has it")
  func digests() {
    let abc = Self.verifier.digest(Array("abc".utf8))
    #expect(
      Hexadecimal.encode(abc)
        == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    let long = Self.verifier.digest([UInt8](repeating: 0x61, count: 119))
    #expect(
      Hexadecimal.encode(long)
        == "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb")
  }

  @Test("a key under a name that is not its own is passed over")
  func misnamed() throws {
    let key = Self.keys[0]
    let text = """
      {"keys":[{"kty":"OKP","crv":"Ed25519","x":"\(key.text)","kid":"\(TestKey(9).id)"}]}
      """
    #expect(try #require(KeySet.keys(Array(text.utf8), Self.verifier)).isEmpty)
  }
}
