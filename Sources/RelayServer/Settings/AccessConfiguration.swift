import JSON
import RelayCore

/// The configuration of access: who may use the relay.
///
/// The values here are the defaults.
package struct AccessConfiguration: Equatable, Sendable {
  /// The treatment of a caller without a credential.
  package enum Anonymous: String, CaseIterable, Sendable {
    /// It may do everything but see to tokens.
    case allow
    /// It may ask whether the relay is well, and nothing else.
    case refuse
  }

  package var anonymous: Anonymous?
  package var hosts: [KnownHost] = []
  package var operators: [OperatorConfiguration] = []
  package var clientKeys: [ClientKeyConfiguration] = []
  package var tokensMax = 100_000

  /// The defaults.
  package init() {}

  /// Whether anybody can be told from others by it.
  package var hasCredentials: Bool { !operators.isEmpty || !clientKeys.isEmpty }
}

extension AccessConfiguration: KeyedSection {
  @KeyList static var keys: [Key] {
    Key(
      "anonymous", \.anonymous, .unlessAbsent(.word, showsNull: true),
      """
      `"allow"`: whoever shows no token may do everything but see to tokens: what envelopes hold \
      is shown to everybody. `"refuse"`: nothing but `/healthz`, `/readyz` and public keys. \
      Without it: `"allow"` as long as no credential is configured, `"refuse"` from then on
      """)
    Key(
      "hosts", \.hosts, .list(KnownHost.rule, KnownHost.init),
      """
      421: the hosts by which who shows no token may call the relay, besides `localhost`, names \
      below it, loopback addresses and the address that is connected to: `relay.example.com`, \
      `relay:8080` (that port alone), `*.fleet.example` (all below it), `*` (any: the look at \
      `Host` is off). A proxy or a port that is published under another address needs its own \
      there. Pages of a host that is named in full, at the scheme's own port or at the one that \
      is named, count as the relay's; a browser that sends a request without a token for any \
      other page gets 403 `cross-site`
      """)
    Key(
      "tokensMax", \.tokensMax, .integer(0...1_000_000),
      """
      409: the most tokens that are stored, those that a key makes and were revoked included. As \
      many of the latter may come on top, so that a full table keeps none from being revoked. \
      Held in memory, some 300 bytes each
      """)
    Key(
      "operators", \.operators,
      "by name: `role` (`\"read\"` or `\"steer\"`) and `tokenSHA256`, \(digestRule)",
      "operators' tokens, by their digests",
      read: { access, reader in
        reader.section("operators") { access.operators = $0.readOperators() }
      },
      write: { access, json in
        json.memberObject("operators") { json in
          for entry in access.operators {
            json.memberObject(entry.name) { json in
              json.member("role", entry.role.rawValue)
              json.member("tokenSHA256", Hexadecimal.encode(entry.tokenDigest))
            }
          }
        }
      })
    Key(
      "clientKeys", \.clientKeys,
      """
      by name: `secrets`, one or, while it is changed, two; and `clients`, names or beginnings \
      with `*`, `*` for all
      """,
      "what clients' tokens are made of",
      read: { access, reader in
        reader.section("clientKeys") { access.clientKeys = $0.readClientKeys() }
      },
      write: { access, json in
        json.memberObject("clientKeys") { json in
          for key in access.clientKeys { json.memberObject(key.name) { key.write(to: &$0) } }
        }
      })
  }
}

extension ClientKeyConfiguration {
  fileprivate func write(to json: inout JSONWriter) {
    json.memberArray("secrets") { json in
      for secret in secrets { json.string(secret.description) }
    }
    json.memberArray("clients") { json in
      for pattern in clients { json.string(pattern) }
    }
  }
}

/// An operator's token that the configuration knows by its digest.
package struct OperatorConfiguration: Equatable, Sendable {
  /// The operator's name in logs.
  package var name: String
  /// The operator's role.
  package var role: OperatorRole
  /// SHA-256 of the token's text.
  package var tokenDigest: [UInt8]

  /// An operator.
  package init(name: String, role: OperatorRole, tokenDigest: [UInt8]) {
    self.name = name
    self.role = role
    self.tokenDigest = tokenDigest
  }
}

/// A key of which clients' tokens are made.
package struct ClientKeyConfiguration: Equatable, Sendable {
  /// The key's name, which its tokens have in them.
  package var name: String
  /// One secret, or, while it is being changed, two: in hexadecimal digits.
  package var secrets: [Secret]
  /// The clients that it makes tokens for: names, or beginnings of names with `*` behind them.
  package var clients: [String] = ["*"]

  /// A key for every client.
  package init(name: String, secrets: [Secret]) {
    self.name = name
    self.secrets = secrets
  }

  /// The most secrets of one key.
  package static let secretsMax = 2
  /// The allowed length of a secret in bytes: at least that of the code (RFC 2104 section 3), at
  /// most a block of the hash.
  package static let secretBytes = 32...64

  /// The bytes of a secret in digits; nil if it is none.
  package static func secret(_ digits: String) -> [UInt8]? {
    Hexadecimal.decode(digits.utf8).flatMap { secretBytes.contains($0.count) ? $0 : nil }
  }
}
