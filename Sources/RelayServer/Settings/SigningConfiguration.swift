import Forwarder
import JSON
import RelayCore

/// The configuration of signatures on requests to an upstream (Standard Webhooks).
package struct SigningConfiguration: KeyedSection, Sendable {
  package var keys: [Secret]

  /// The forwarder's signing keys; nil for keys that are malformed, which no configuration has.
  package var webhooks: WebhookSigning? {
    let keys = keys.compactMap { WebhookSigning.key($0.value) }
    guard let first = keys.first else { return nil }
    return WebhookSigning(first, keys.count > 1 ? keys[1] : nil)
  }

  @KeyList static var keys: [Key] {
    Key(
      "keys", \.keys, "an array of one key, or of two while one takes the other's place",
      "the keys with which requests are [signed](#signed-requests)",
      read: { signing, reader in signing.keys = reader.readSigningKeys() },
      write: { signing, json in
        json.memberArray("keys") { json in
          for key in signing.keys { json.string(key.description) }
        }
      })
  }

  /// The rule on keys, as a part of a sentence.
  static let keyRule =
    "\"\(WebhookSigning.keyPrefix)\" and the base64 of \(WebhookSigning.keyBytes.lowerBound) to"
    + " \(WebhookSigning.keyBytes.upperBound) random bytes"
}

extension SectionReader {
  /// The keys that requests are signed with; none, with a problem noted, if something is wrong.
  fileprivate mutating func readSigningKeys() -> [Secret] {
    let path = path(of: "keys")
    let count = 1...WebhookSigning.keyCountMax
    guard let values = value("keys").flatMap({ try? $0.array() }).map(Array.init),
      count.contains(values.count)
    else {
      problems.add(
        path, expected: "an array of one key, or of two while one takes the other's place",
        found: "something else")
      return []
    }
    var keys: [Secret] = []
    var isMissingOne = false
    for (index, value) in values.enumerated() {
      let path = "\(path)[\(index)]"
      guard let text = expanded(value, at: path) else {
        // The other one may be missing, too.
        isMissingOne = true
        continue
      }
      guard WebhookSigning.key(text) != nil else {
        // Not shown: it may be a key with a slip of the pen in it.
        problems.add(path, expected: SigningConfiguration.keyRule, found: "something else")
        return []
      }
      keys.append(Secret(text))
    }
    guard !isMissingOne else { return [] }
    guard Set(keys.map(\.value)).count == keys.count else {
      problems.add(path, "the same key stands there twice")
      return []
    }
    return keys
  }

  /// The names of an upstream's answers' fields that pass though they would be held back.
  mutating func passHeaders(_ key: String, into target: inout [String]) {
    guard let value = value(key) else { return }
    let path = path(of: key)
    guard let names = (try? value.array())?.map({ try? $0.string() }), !names.contains(nil) else {
      return problems.add(path, expected: "an array of field names", found: value.shown)
    }
    var taken: [String] = []
    for name in names.compactMap({ $0 }) {
      if name.isEmpty || !name.utf8.allSatisfy(FieldSyntax.isTokenByte) {
        problems.add(path, "\(Self.quoted(name)) is no field name (RFC 9110 section 5.1)")
      } else if AnswerFields.isRelaysOwn(Array(name.utf8)[...]) {
        problems.add(path, "\(name) is written by the relay itself, or ends at it")
      } else if taken.contains(where: { $0.lowercased() == name.lowercased() }) {
        problems.add(path, "\(name) stands there twice")
      } else {
        taken.append(name)
      }
    }
    target = taken
  }

  private static func quoted(_ text: String) -> String { JSONWriter.quoted(text) }
}
