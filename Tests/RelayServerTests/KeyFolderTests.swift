import Cryptography
import Foundation
import JSON
import RelayCore
import Synchronization
import Testing

@testable import RelayServer

@Suite("The folder of receipts' keys")
struct KeyFolderTests {
  /// A folder that goes away with the value that names it.
  private final class Place {
    let path = NSTemporaryDirectory() + "waystation-keys-\(UUID().uuidString)"
    var folder: KeyFolder { KeyFolder(path) }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    var names: [String] {
      ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
    }

    func mode(_ name: String = "") throws -> Int? {
      let file = name.isEmpty ? path : "\(path)/\(name)"
      let facts = try FileManager.default.attributesOfItem(atPath: file)
      return (facts[.posixPermissions] as? NSNumber)?.intValue
    }

    func setMode(_ mode: Int, of name: String = "") throws {
      let file = name.isEmpty ? path : "\(path)/\(name)"
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
    }

    func text(_ name: String) throws -> String {
      try String(contentsOfFile: "\(path)/\(name)", encoding: .utf8)
    }

    func write(_ name: String, _ text: String) throws {
      try Data(text.utf8).write(to: URL(fileURLWithPath: "\(path)/\(name)"))
      try setMode(0o600, of: name)
    }

    func copy() throws -> Place {
      let other = Place()
      try FileManager.default.copyItem(atPath: path, toPath: other.path)
      try other.setMode(0o700)
      return other
    }

    /// The error that keeps the keys from being used; nil if nothing does.
    func fault() -> String? {
      do {
        _ = try folder.keys()
        return nil
      } catch { return error.description }
    }
  }

  private static let now = WallTime(millisecondsSinceEpoch: 1_793_383_200_123)

  @Test("a folder that is not there is made with its first key, and stays as it is after that")
  func first() throws {
    let place = Place()
    #expect(try place.folder.keys() == nil && place.names.isEmpty)
    let (keys, isNew) = try place.folder.takeUp(at: Self.now)
    #expect(isNew && place.names == ["\(keys.kid).pem", "ring.json"].sorted())
    #expect(try place.mode() == 0o700 && place.mode("ring.json") == 0o600)
    #expect(try place.mode("\(keys.kid).pem") == 0o600)
    let present = try #require(keys.ring.keys.first)
    #expect(present.sinceSeconds == 1_793_383_200 && present.untilSeconds == nil)
    #expect(present.endorsement == nil && present.key.thumbprint == keys.kid)
    let again = try place.folder.takeUp(at: Self.now.adding(milliseconds: 5000))
    #expect(!again.isNew && again.keys.ring == keys.ring)
    let text = keys.sign(type: "waystation-receipt+jws", payload: Array("{}".utf8))
    let read = try #require(CompactJWS(text))
    #expect(read.isSigned(by: present.key))
    #expect(
      String(decoding: read.header, as: UTF8.self)
        == #"{"alg":"EdDSA","kid":"\#(keys.kid)","typ":"waystation-receipt+jws"}"#)
    #expect(again.keys.sign(type: "waystation-receipt+jws", payload: Array("{}".utf8)) == text)
  }

  @Test("a rotation leaves the new private key alone, and a chain from the first key to it")
  func rotation() throws {
    let place = Place()
    var kids = [try place.folder.takeUp(at: Self.now).keys.kid]
    for day in 1...3 {
      let moment = Self.now.adding(milliseconds: Int64(day) * 86_400_000)
      let ring = try place.folder.rotate(at: moment)
      kids.append(ring.present.id)
      #expect(place.names == ["\(ring.present.id).pem", "ring.json"].sorted())
      #expect(try place.folder.keys()?.ring == ring)
    }
    let ring = try #require(try place.folder.ring())
    #expect(ring.keys.map(\.id) == kids && Set(kids).count == 4)
    for (former, next) in zip(ring.keys, ring.keys.dropFirst()) {
      #expect(former.untilSeconds == next.sinceSeconds)
      let text = try #require(next.endorsement.flatMap(CompactJWS.init))
      #expect(text.payload == next.key.jwk && text.isSigned(by: former.key))
    }
    #expect(try place.text("ring.json") == String(decoding: ring.jwks, as: UTF8.self))
  }

  @Test("processes that begin or rotate at once do so one after the other")
  func together() throws {
    let place = Place()
    let folder = place.folder
    let kids = Mutex<Set<String>>([])
    DispatchQueue.concurrentPerform(iterations: 4) { _ in
      let keys = try? folder.takeUp(at: Self.now).keys
      kids.withLock { _ = $0.insert(keys?.kid ?? "") }
    }
    let first = try #require(try folder.keys())
    #expect(kids.withLock { $0 } == [first.kid])
    DispatchQueue.concurrentPerform(iterations: 4) { _ in _ = try? folder.rotate(at: Self.now) }
    let last = try #require(try folder.keys())
    #expect(last.ring.keys.count == 5 && last.ring.continues(first.ring))
    #expect(place.names == ["\(last.kid).pem", "ring.json"].sorted())
  }

  @Test("a clock that was set back retires no key before it was made")
  func clock() throws {
    let place = Place()
    _ = try place.folder.takeUp(at: Self.now)
    let ring = try place.folder.rotate(at: Self.now.adding(milliseconds: -3_600_000))
    #expect(ring.keys[0].untilSeconds == ring.keys[0].sinceSeconds)
    #expect(try place.folder.keys()?.ring == ring)
  }

  // MARK: - Unknown to devices

  @Test("a ring that devices may not know says so over starts and rotations, until it is accepted")
  func strange() throws {
    let place = Place()
    let made = try place.folder.takeUp(at: Self.now, isNewStrange: true).keys
    #expect(made.strangeness == ReceiptKeys.Strangeness(since: Self.now))
    #expect(try place.text(KeyFolder.markName) == "2026-10-30T18:00:00.123Z\n")
    let later = Self.now.adding(milliseconds: 5000)
    _ = try place.folder.rotate(at: later)
    #expect(try place.folder.takeUp(at: later).keys.strangeness?.since == Self.now)
    #expect(try place.folder.state()?.strangeSince == Self.now)
    #expect(try place.folder.accept().strangeSince == Self.now)
    #expect(try place.folder.keys()?.strangeness == nil)
    #expect(!place.names.contains(KeyFolder.markName))
    // Once more does no harm, and changes nothing.
    let again = try place.folder.accept()
    #expect(again.strangeSince == nil && again.ring.keys[0].id == made.kid)
  }

  @Test("a mark in which no time can be read is one all the same")
  func unreadableMark() throws {
    let place = Place()
    _ = try place.folder.takeUp(at: Self.now)
    #expect(try place.folder.state()?.strangeSince == nil)
    try place.write(KeyFolder.markName, "")
    let since = try place.folder.keys()?.strangeness?.since
    #expect(since == WallTime(millisecondsSinceEpoch: 1_793_383_200_000))
  }

  @Test("where no ring was made yet there is nothing to accept")
  func nothingToAccept() throws {
    let place = Place()
    #expect(throws: KeyFolderError.self) { try place.folder.accept() }
    #expect(try place.folder.state() == nil)
  }

  // MARK: - Cut off

  @Test(
    "a rotation that is cut off anywhere leaves the old ring or the new one, and the next works")
  func cutRotation() throws {
    let place = Place()
    let keys = try place.folder.takeUp(at: Self.now).keys
    let (next, steps) = keys.rotation(at: Self.now)
    for cut in Self.cuts(of: steps) {
      let copy = try place.copy()
      try cut(copy.folder)
      let found = try #require(try copy.folder.keys())
      #expect(found.ring == keys.ring || found.ring == next)
      let later = try copy.folder.rotate(at: Self.now)
      #expect(later.continues(found.ring))
      #expect(copy.names == ["\(later.present.id).pem", "ring.json"].sorted())
    }
  }

  @Test("a start takes away what a rotation that was cut off has left")
  func swept() throws {
    let place = Place()
    let keys = try place.folder.takeUp(at: Self.now).keys
    for cut in Self.cuts(of: keys.rotation(at: Self.now).steps) {
      let copy = try place.copy()
      try cut(copy.folder)
      let (found, _) = try copy.folder.takeUp(at: Self.now)
      #expect(copy.names == ["\(found.kid).pem", "ring.json"].sorted())
    }
  }

  @Test("a first ring that is cut off anywhere is begun anew at the next start")
  func cutBeginning() throws {
    for isStrange in [false, true] { try cutBeginning(isStrange: isStrange) }
  }

  private func cutBeginning(isStrange: Bool) throws {
    let (ring, steps) = KeyFolder.beginning(
      with: .makeEd25519(), at: Self.now, isStrange: isStrange)
    for (index, cut) in Self.cuts(of: steps).enumerated() {
      let place = Place()
      try FileManager.default.createDirectory(
        atPath: place.path, withIntermediateDirectories: false,
        attributes: [.posixPermissions: 0o700])
      try cut(place.folder)
      let found = try place.folder.takeUp(at: Self.now, isNewStrange: isStrange).keys
      let mark = isStrange ? [KeyFolder.markName] : []
      #expect(place.names == (["\(found.kid).pem", "ring.json"] + mark).sorted(), "cut \(index)")
      #expect((found.strangeness != nil) == isStrange, "cut \(index)")
      #expect(found.kid == ring.present.id || index < Self.cuts(of: steps).count - 1)
    }
  }

  /// What a process does that is killed: some of the steps, and then perhaps half of the next one's
  /// draft.
  private static func cuts(of steps: [KeyFolderStep]) -> [(KeyFolder) throws -> Void] {
    (0...steps.count).flatMap { count -> [(KeyFolder) throws -> Void] in
      let whole: (KeyFolder) throws -> Void = { folder in
        for step in steps[..<count] { try folder.perform(step) }
      }
      guard count < steps.count, case .write(let name, let bytes) = steps[count] else {
        return [whole]
      }
      return [
        { folder in
          try whole(folder)
          try Data(bytes.prefix(bytes.count / 2)).write(
            to: URL(fileURLWithPath: "\(folder.path)/\(KeyFolder.draft(of: name))"))
        }, whole,
      ]
    }
  }

  // MARK: - Refused

  @Test("a ring without its private key is refused, with the file and what to do")
  func noPrivateKey() throws {
    let place = Place()
    let keys = try place.folder.takeUp(at: Self.now).keys
    let file = "\(place.path)/\(keys.kid).pem"
    try FileManager.default.removeItem(atPath: file)
    let fault = try #require(place.fault())
    #expect(fault.hasPrefix("\(file): is missing: ") && fault.contains("Put it back"), "\(fault)")
    #expect(throws: KeyFolderError.self) { try place.folder.takeUp(at: Self.now) }
    #expect(throws: KeyFolderError.self) { try place.folder.rotate(at: Self.now) }
    #expect(place.names == ["ring.json"])
    try place.write(
      "\(keys.kid).pem", String(decoding: SigningKey.makeEd25519().pem, as: UTF8.self))
    #expect(place.fault()?.hasPrefix("\(file): holds another key than ring.json") == true)
    try place.write("\(keys.kid).pem", "nonsense")
    #expect(place.fault()?.hasPrefix("\(file): holds no private key") == true)
  }

  @Test("private keys without their ring are refused, and nothing is made beside them")
  func noRing() throws {
    let place = Place()
    let keys = try place.folder.takeUp(at: Self.now).keys
    try FileManager.default.removeItem(atPath: "\(place.path)/ring.json")
    let fault = try #require(place.fault())
    #expect(fault.contains("ring.json: is missing, and the folder is not empty"), "\(fault)")
    #expect(throws: KeyFolderError.self) { try place.folder.takeUp(at: Self.now) }
    #expect(place.names == ["\(keys.kid).pem"])
  }

  @Test("a folder of other things is refused, and nothing is written into it")
  func foreign() throws {
    let place = Place()
    _ = try place.folder.takeUp(at: Self.now)
    for name in place.names { try FileManager.default.removeItem(atPath: "\(place.path)/\(name)") }
    try place.write("notes.txt", "x")
    #expect(throws: KeyFolderError.self) { try place.folder.takeUp(at: Self.now) }
    #expect(place.names == ["notes.txt"])
  }

  @Test("a ring that says anything else than the relay wrote is damaged")
  func damaged() throws {
    let place = Place()
    _ = try place.folder.takeUp(at: Self.now)
    let ring = try place.folder.rotate(at: Self.now.adding(milliseconds: 9000))
    let whole = try place.text("ring.json")
    let last = ring.present
    let text = try #require(last.endorsement)
    let other = try #require(SigningKey.makeEd25519().ed25519)
    let changes: [(String, String)] = [
      (whole, ""), (whole, String(whole.dropLast(40))), (whole, "{}"), (whole, #"{"keys":[]}"#),
      (#""x":"\#(Base64URL.encode(last.key.bytes))""#, #""x":"\#(Base64URL.encode(other.bytes))""#),
      (#""kid":"\#(last.id)""#, #""kid":"\#(ring.keys[0].id)""#),
      (#","endorsement":"\#(text)""#, ""),
      (text, String(text.dropLast(8)) + "AAAAAAAA"), (#""exp":1793383209"#, #""exp":1"#),
      (#","exp":1793383209"#, ""), (#""kty":"OKP""#, #""kty":"EC""#),
      (#""nbf":1793383209"#, #""nbf":"1793383209""#),
    ]
    for (old, new) in changes {
      #expect(whole.contains(old))
      try place.write("ring.json", whole.replacingOccurrences(of: old, with: new))
      let fault = place.fault()
      #expect(
        fault?.hasPrefix("\(place.path)/ring.json: is damaged: it ") == true,
        "\(old) -> \(new): \(fault ?? "taken")")
    }
    try place.write("ring.json", whole)
    #expect(place.fault() == nil)
  }

  @Test("a key that the one before it has not signed itself does not follow it")
  func foreignSuccessor() throws {
    let place = Place()
    let first = try place.folder.takeUp(at: Self.now).keys.ring
    let old = try SigningKey(reading: "\(place.path)/\(first.present.id).pem")
    let ring = first.rotated(from: old, to: try publicKey(), at: Self.now)
    let other = first.rotated(from: old, to: try publicKey(), at: Self.now)
    for text in [other.present.endorsement, try ring.present.forged()] {
      let bytes = String(decoding: ring.jwks, as: UTF8.self).replacingOccurrences(
        of: try #require(ring.present.endorsement), with: try #require(text))
      #expect(throws: KeyRing.Damage.self) { try KeyRing(parsing: Array(bytes.utf8)) }
    }
    #expect(try KeyRing(parsing: ring.jwks) == ring)
    #expect(ring.continues(first) && !ring.continues(other) && !first.continues(ring))
  }

  private func publicKey() throws -> Ed25519PublicKey {
    try #require(SigningKey.makeEd25519().ed25519)
  }

  @Test("a folder or file that others may use is refused, with what mends it")
  func modes() throws {
    let place = Place()
    let keys = try place.folder.takeUp(at: Self.now).keys
    for (name, bad, good) in [
      ("", 0o755, 0o700), ("\(keys.kid).pem", 0o644, 0o600), ("\(keys.kid).pem", 0o640, 0o600),
      ("ring.json", 0o666, 0o644),
    ] {
      try place.setMode(bad, of: name)
      let fault = try #require(place.fault())
      let path = name.isEmpty ? place.path : "\(place.path)/\(name)"
      let digits = String(good, radix: 8)
      #expect(fault.hasPrefix("\(path): has the mode \(String(bad, radix: 8))"), "\(fault)")
      #expect(fault.hasSuffix("run 'chmod \(digits) \(path)'"), "\(fault)")
      try place.setMode(good, of: name)
      #expect(place.fault() == nil)
    }
  }

  @Test("where no ring was made yet there is nothing to rotate")
  func nothingToRotate() throws {
    let place = Place()
    #expect(throws: KeyFolderError.self) { try place.folder.rotate(at: Self.now) }
    #expect(try place.folder.ring() == nil)
  }
}

extension RingKey {
  /// An endorsement as its own is, but by a key that is in no ring.
  fileprivate func forged() throws -> String {
    let text = try #require(endorsement.flatMap(CompactJWS.init))
    return CompactJWS.text(header: text.header, payload: text.payload, key: .makeEd25519())
  }
}
