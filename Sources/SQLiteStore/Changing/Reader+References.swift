import RelayCore

extension Reader {
  /// The answers to these keys, as seen from an envelope that refers to them.
  func answers(
    to keys: Set<String>, for serial: Serial
  ) throws(StoreError) -> [String: ReferencedAnswer] {
    try snapshot { () throws(StoreError) -> [String: ReferencedAnswer] in
      var answers: [String: ReferencedAnswer] = [:]
      for key in keys { answers[key] = try answer(to: key, for: serial) }
      return answers
    }
  }

  private func answer(
    to key: String, for serial: Serial
  ) throws(StoreError) -> ReferencedAnswer {
    sql.referenced.bind(1, key)
    sql.referenced.bind(2, serial)
    guard try sql.referenced.step() else { return .unknown }
    let id = try EnvelopeID(stored: sql.referenced.bytes(0))
    let isInSameLane = sql.referenced.int(1) != 0
    let earlier = sql.referenced.int(2)
    sql.referenced.reset()
    guard isInSameLane else { return .elsewhere }
    guard earlier < serial else { return .notEarlier }
    guard let state = try stateOf(id, earlier)?.fate.state else { return .unknown }
    guard state == .delivered else { return .undelivered(state) }
    return .delivered(try keptResponse(of: earlier))
  }
}
