import Foundation
import RelayServer
import Testing

@Suite("Every key of the configuration")
struct ConfigurationKeyTests {
  /// The keys that ``ConfigurationLoadTests/everything`` does not have, or writes in another form.
  private static let rest = """
    {
      "name": "cell-1.example",
      "listen": [
        {"address": "127.0.0.1:8443", "for": "devices",
         "tls": {"certificate": "/c.pem", "key": "/k.pem", "minVersion": "1.3",
                 "clientCertificates": {"authorities": "/ca.pem", "required": false,
                                        "clientName": "uri", "revocations": "/crl.pem"}}},
        {"unix": "/run/w.sock", "mode": "0660", "for": "operators"},
        {"systemd": "web", "for": "operators"},
        {"address": "0.0.0.0:8444", "for": "relays", "advertise": "relay-1.example.com:8444",
         "tls": {"certificate": "/c.pem", "key": "/k.pem",
                 "clientCertificates": {"authorities": "/ca.pem"}}}
      ],
      "access": {
        "tokensMax": 1,
        "operators": {"eve": {"role": "steer", "tokenSHA256": "\(digest)"}},
        "clientKeys": {"fleet": {"secrets": "\(digest)", "clients": "till-*"}}
      },
      "upstreams": {
        "default": {
          "url": "https://a.example", "signing": {"keys": ["\(key)"]}, "passHeaders": ["Link"],
          "takesContentRange": true, "requestsPerSecondMax": 2.5, "burst": 6,
          "retryAfterHolds": "lane",
          "batch": {
            "format": "json", "path": "/ingest?v=2", "from": ["/readings"], "itemsMax": 16,
            "bytesMax": 65540, "lingerMs": 17, "gzip": true, "results": "required"
          },
          "clientCertificate": "/relay.pem", "clientKey": "/relay.key", "minTLSVersion": "1.3",
          "http2": false,
          "outcomes": {"deliver": [409, "2xx"]},
          "credentials": {"kind": "bearer", "token": "t0ken"}
        },
        "aws": {
          "url": "http://a",
          "credentials": {
            "kind": "aws-sigv4", "region": "eu-central-1", "service": "s3", "accessKey": "a",
            "secretKey": "b", "sessionToken": "c"
          }
        },
        "oauth": {
          "url": "http://a",
          "credentials": {
            "kind": "oauth2", "tokenURL": "https://id.example/token", "clientID": "a",
            "clientSecret": "b", "scope": "c d", "audience": "e", "certificateAuthorities": "/f.pem"
          }
        },
        "oauth-key": {
          "url": "http://a",
          "credentials": {
            "kind": "oauth2", "tokenURL": "https://id.example/token", "clientID": "a",
            "privateKey": "/g.pem", "keyID": "h"
          }
        },
        "hub": {
          "url": "http://a", "batch": {"format": "waystation", "upstream": "billing"}
        },
        "basic": {
          "url": "http://a", "credentials": {"kind": "basic", "user": "u", "password": "p"}
        }
      },
      "store": {
        "postgres": {
          "url": "postgresql://u:p@db/ws?sslmode=require", "passwordFile": "/p.txt",
          "durability": "quorum"
        }
      },
      "events": {
        "keptSeconds": 2, "keptBytesMax": 65537, "listenersMax": 3, "heartbeatSeconds": 4,
        "readTimeoutSeconds": 5
      },
      "audit": {"entriesMax": 6},
      "notify": {"upstream": "default", "path": "/hooks/relay?token=x"},
      "receipts": {"issuer": "https://relay.example/a", "keys": "/keys",
        "keptSeconds": 60, "keptGroupsMax": 70, "keptEntriesMax": 71},
      "lanes": {"sales": {"evidence": true}},
      "tracing": {
        "endpoint": "http://collector.example/v1/traces", "headers": {"Authorization": "x"},
        "certificateAuthorities": "/tca.pem", "serviceName": "relay-7", "sampleRatio": 0.25,
        "timeoutMs": 7, "queueSpansMax": 1008, "queueBytesMax": 65539, "batchSpansMax": 10,
        "batchDelayMs": 11
      },
      "log": {"access": true},
      "limits": {
        "bodyTimeoutMs": 12, "stallTimeoutMs": 13, "handshakeTimeoutMs": 14, "handshakesMax": 15
      }
    }
    """
  private static let digest = String(repeating: "0f", count: 32)
  private static let key = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

  /// The keys whose values are secret: they are shown as hidden, or not at all.
  private static let secret: Set<String> = [
    "all access.clientKeys", "all access.operators", "upstream headers", "upstream proxy",
    "upstream signing.keys", "upstream credentials.user", "upstream credentials.password",
    "all store.postgres.url",
    "upstream credentials.token", "upstream credentials.accessKey",
    "upstream credentials.secretKey", "upstream credentials.sessionToken",
    "upstream credentials.clientID", "upstream credentials.clientSecret",
    "tracing tracing.headers",
  ]

  /// The keys that have keys of their own in another table.
  private static let outer: Set<String> = [
    "all listen", "all upstreams", "all lanes", "all clients", "all limits", "all tracing",
  ]

  /// The objects of a configuration that a table of the reference is about.
  private func objects(_ table: String, in root: NSDictionary) -> [NSDictionary] {
    func named(_ key: String) -> [NSDictionary] {
      ((root[key] as? NSDictionary)?.allValues ?? []).compactMap { $0 as? NSDictionary }
    }
    return switch table {
    case "listener": (root["listen"] as? [Any] ?? []).compactMap { $0 as? NSDictionary }
    case "upstream": named("upstreams")
    case "lane": named("lanes")
    case "client": named("clients")
    case "limits": (root["limits"] as? NSDictionary).map { [$0] } ?? []
    default: [root]
    }
  }

  private func values(_ table: String, _ path: String, in root: NSDictionary) -> [NSObject] {
    objects(table, in: root).compactMap { object in
      path.components(separatedBy: ".").reduce(object as NSObject?) {
        ($0 as? NSDictionary)?[$1] as? NSObject
      }
    }
  }

  private func object(_ text: String) throws -> NSDictionary {
    try #require(JSONSerialization.jsonObject(with: Data(text.utf8)) as? NSDictionary)
  }

  @Test("is read from a file here, with another value than its default, and written as it was")
  func everyKey() throws {
    let files = try [ConfigurationLoadTests.everything, Self.rest].map { text in
      let loaded = try loadConfiguration(text, environment: ["API_TOKEN": "s3cret"]).get()
      return (given: try object(text), written: try object(loaded.description))
    }
    let plain = try Fixture.configuration(["default"])
    let defaults = try object(plain.description)
    for table in plain.reference() {
      for row in table.rows {
        let name = "\(table.name) \(row.path)"
        let standing = values(table.name, row.path, in: defaults)
        let isTested = files.contains { file in
          let given = values(table.name, row.path, in: file.given)
          let written = values(table.name, row.path, in: file.written)
          guard !given.isEmpty else { return false }
          if Self.secret.contains(name) || Self.outer.contains(name) { return true }
          return given.contains { written.contains($0) && !standing.contains($0) }
        }
        #expect(
          isTested,
          "the key \(name) has no test: give it a value here, which is read and written as it was")
      }
    }
  }
}
