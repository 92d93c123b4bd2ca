import WaystationOutboxTesting

@testable import WaystationOutbox

// Whether what the upstream got is what the device has signed.
extension Simulation {
  /// The signer is asked; now and then it signs only some, or nothing.
  func sign(_ tasks: [SigningTask]) {
    var signed = tasks
    var failure: String?
    if chance(faultPercent / 2) {
      signed = Array(tasks.prefix(Int(below(Int64(tasks.count)))))
      failure = "the keychain is locked"
      faults.append("locked at \(nowMs)")
    }
    for task in signed { check(task) }
    schedule(.signed(signed, failure: failure), afterMs: 1 + below(500))
  }

  /// Nothing else is ever signed under a number.
  ///
  /// A device whose relay was put back to a backup may learn that its numbers are others' now.
  private func check(_ task: SigningTask) {
    let payload = task.message.split(separator: UInt8(ascii: ".")).last.map(Array.init) ?? []
    guard let item = try? core?.file.item(task.item) else { return }
    let lane = core?.name(of: item.lane) ?? ""
    if let known = statements[lane]?[task.sequence], known != payload {
      broken.append("two things were signed under \(task.sequence) of \(lane)")
    }
    statements[lane, default: [:]][task.sequence] = payload
  }

  /// What an upstream finds that trusts the device's key alone.
  func unsigned() throws -> [String] {
    guard settings.signer != nil, let core else { return [] }
    var found: [String] = []
    for lane in ["block", "skip"] {
      guard let number = core.state.laneNumbers[lane] else { continue }
      let untold = Set(try core.file.untoldVoids(of: number, countMax: 10_000))
      var over: Set<UInt64> = []
      for item in told.values where item.lane == lane {
        // The upstream's record here has no requests that it has refused, and the relay does not
        // send what is cancelled.
        guard let ending = try core.file.ending(item.number), ending.kind != .delivered,
          let sequence = ending.sequence
        else { continue }
        if ending.kind == .refused || ending.kind == .unknown && wasRestored {
          over.insert(sequence)
        }
      }
      let audit = SignedUpstream.audit(relay.delivered.filter { $0.lane == lane }, lane, [signer])
      let verdict = audit.verdict { untold.contains($0) || over.contains($0) }
      if case .failure(let fault) = verdict {
        // A relay that was put back to a backup delivers anew what was taken back since then.
        if wasRestored, fault.reason == .anotherOrder { continue }
        let endings = try told.values.filter { $0.lane == lane }.sorted { $0.number < $1.number }
          .compactMap { item in
            try core.file.ending(item.number).map {
              "\(item.number): \($0.sequence ?? 0) \($0.kind)"
            }
          }
        found.append("\(lane): number \(fault.number) is \(fault.reason) of \(endings)")
      }
    }
    return found
  }
}

/// An upstream that trusts the device's key alone.
enum SignedUpstream {
  /// The audit of what came in a lane.
  static func audit(
    _ requests: [RelayModel.Envelope], _ lane: String, _ signers: [TestSigner]
  ) -> DeviceAudit {
    var audit = DeviceAudit()
    for request in requests {
      guard let sequence = request.sequence else { continue }
      audit.add(
        sequence, digests: [request.sent],
        signed(request.signature, lane: lane, sequence: sequence, signers))
    }
    return audit
  }

  /// What stands in a request's field.
  static func signed(
    _ field: String?, lane: String, sequence: UInt64, _ signers: [TestSigner]
  ) -> DeviceAudit.Signed {
    guard let field else { return .nothing }
    guard
      let text = SignedText(field, type: ItemStatement.type, algorithms: ["EdDSA", "ES256"]),
      signers.contains(where: {
        $0.keyID.thumbprint == text.keyID && $0.signature(of: text.message) == text.signature
      }), let statement = ItemStatement(payload: text.payload), statement.client == "device",
      statement.lane == lane, statement.sequence == sequence
    else { return .nobody }
    return .device(statement, hash: TestReceiptVerifier().digest(text.payload))
  }
}
