import Foundation

/// Carries one row out against a relay, and says what was otherwise than expected.
struct HostileRunner: Sendable {
  let port: UInt16

  /// What the row's relay did that it must not do; nil if all was as documented.
  func fault(of row: HostileRow) -> String? {
    do {
      let connection = try Connection(port: port)
      defer { connection.close() }
      var expected = row.answers[...]
      var saysEnd: Bool?
      for step in row.steps {
        switch step {
        case .send(let bytes): try? connection.write(bytes)
        case .trickle(let bytes, let everyMs): trickle(bytes, everyMs, connection)
        case .answer: saysEnd = try take(&expected, from: connection)
        case .halfClose: connection.endOutput()
        case .reset: connection.reset()
        }
      }
      while !expected.isEmpty { saysEnd = try take(&expected, from: connection) }
      switch row.ending {
      case .closed where saysEnd == false: return "the last answer does not say Connection: close"
      case .goesOn where saysEnd == true: return "the last answer says Connection: close"
      default: break
      }
      return try fault(of: row.ending, connection)
    } catch let fault as Fault {
      return fault.description
    } catch {
      return "\(error)"
    }
  }

  private struct Fault: Error {
    let description: String
  }

  /// Sends what the relay may stop to read at any time.
  private func trickle(_ bytes: [UInt8], _ everyMs: Int, _ connection: Connection) {
    for byte in bytes {
      guard (try? connection.write([byte])) != nil else { return }
      // The time between two bytes is what is tried here: the relay has its answer ready, or has
      // closed, long before the last of them.
      if connection.hasInput(withinMs: everyMs) { return }
    }
  }

  /// Reads one answer.
  ///
  /// - Returns: Whether it says that the connection ends behind it.
  private func take(
    _ expected: inout ArraySlice<HostileRow.Answer>, from connection: Connection
  ) throws -> Bool {
    guard let wanted = expected.popFirst() else { throw Fault(description: "one answer too many") }
    let response = try connection.readResponse(to: "GET")
    let found = HostileRow.Answer(status: response.status, problem: response.problem)
    guard found == wanted else {
      throw Fault(description: "\(wanted) was due, and \(response) came")
    }
    if let problem = wanted.problem { try check(response, problem) }
    return response["Connection"] == "close"
  }

  /// A problem has to be a whole document, whatever was sent.
  private func check(_ response: WireResponse, _ problem: String) throws {
    let document = try response.json()
    guard document["type"] as? String == "urn:waystation:problem:\(problem)",
      document["status"] as? Int == response.status,
      (document["detail"] as? String)?.isEmpty == false,
      response["Content-Type"] == "application/problem+json"
    else { throw Fault(description: "no whole problem: \(response)") }
    // The longest is that of a batch of a thousand items, each with a problem of its own.
    guard response.body.count <= 512 << 10 else {
      throw Fault(description: "an answer of \(response.body.count) bytes")
    }
  }

  private func fault(of ending: HostileRow.Ending, _ connection: Connection) throws -> String? {
    switch ending {
    case .unwatched: return nil
    case .closed, .endedByPeer:
      let rest = (try? connection.readToEnd()) ?? []
      return rest.isEmpty ? nil : "more came: \(String(decoding: rest.prefix(300), as: UTF8.self))"
    case .goesOn:
      // A query of its own tells this answer from any that something smuggled could have caused.
      try connection.write(Wire.request("GET /v1/clients/canary"))
      let response = try connection.readResponse(to: "GET")
      return response.status == 404 && response.problem == "unknown-client"
        && response.text.contains("canary") ? nil : "behind it came \(response)"
    }
  }
}
