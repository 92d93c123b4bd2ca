import JSON
import RelayCore

/// Paths of the relay.
enum RelayPath {
  /// A name as a segment of a path.
  static func escaped(_ name: String) -> String {
    String(decoding: PercentEncoding.encode(Array(name.utf8)), as: UTF8.self)
  }

  /// One envelope of a client, by its key.
  static func envelope(_ key: String, of client: String) -> String {
    "/v1/clients/\(escaped(client))/envelopes/\(escaped(key))"
  }

  /// Some numbers of a lane's ledger.
  static func ledger(
    of client: String, lane: String, _ numbers: ClosedRange<Int64>
  ) -> String {
    "/v1/clients/\(escaped(client))/lanes/\(escaped(lane))/ledger?first=\(numbers.lowerBound)"
      + "&last=\(numbers.upperBound)&limit=\(SignedLedgerPage.rowsMax)"
  }
}

/// The highest number of each lane that has come to the relay.
struct HighestNumbers {
  private(set) var lanes: [String: UInt64] = [:]

  /// Reads the answer to `GET /v1/clients/{client}`; nil if a relay has not written it.
  init?(_ response: Response) {
    if response.status == 404 {
      guard RelayProblem(response)?.name == "unknown-client" else { return nil }
      return
    }
    guard let value = try? JSONValue.parse(response.body), let object = try? value.object(),
      let list = try? object["lanes"]?.array()
    else { return nil }
    for element in list {
      guard let lane = try? element.object(), let name = try? lane["name"]?.string() else {
        return nil
      }
      let highest = (try? lane["highestSequence"]?.int64()) ?? nil
      let last = (try? lane["lastSequence"]?.int64()) ?? nil
      lanes[name] = UInt64(min(max(0, highest ?? 0, last ?? 0), SyncAnswer.sequenceMax - 1))
    }
  }
}
