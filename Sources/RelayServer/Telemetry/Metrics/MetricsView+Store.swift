import RelayCore

extension MetricsView {
  /// What the store holds, and how it is.
  func writeStore(to writer: inout ExpositionWriter) {
    writeStates(to: &writer)
    var gauges: [(StaticString, StaticString, Int64)] = [
      (
        "waystation_waiting_bytes", "Bytes of bodies, headers and targets that wait.",
        waitingBytes
      ),
      (
        "waystation_store_content_bytes",
        "Bytes of bodies, headers and targets that are kept, ended envelopes included.",
        statistics.contentBytes
      ),
    ]
    if let files { gauges += Self.gauges(of: files) }
    gauges += [
      ("waystation_known_clients", "Clients that are known.", statistics.names.clients),
      ("waystation_known_lanes", "Lanes that are known.", statistics.names.lanes),
      (
        "waystation_store_trouble", "1 while the store cannot write, else 0.",
        statistics.trouble == nil ? 0 : 1
      ),
    ]
    if let files {
      gauges.append(
        (
          "waystation_store_damaged", "1 where a part of the store cannot be read, else 0.",
          files.damage.sentence == nil ? 0 : 1
        ))
    }
    for (name, help, value) in gauges {
      writer.begin(.gauge, name, help)
      writer.sample(value: value)
    }
  }

  private static func gauges(of files: StoreFiles) -> [(StaticString, StaticString, Int64)] {
    [
      (
        "waystation_store_file_bytes", "Bytes that the store's files take on disk.",
        files.fileBytes
      ),
      (
        "waystation_store_log_bytes",
        "Bytes of the store's log that are not known to be in the database yet.",
        files.logBytes
      ),
      (
        "waystation_store_room_bytes", "Bytes that new envelopes may still take on disk.",
        files.shownRoomBytes
      ),
    ]
  }

  private func writeStates(to writer: inout ExpositionWriter) {
    writer.begin(.gauge, "waystation_stored_envelopes", "Envelopes that are kept, by their state.")
    // The store counts an envelope that is being attempted as queued.
    let queued = statistics.envelopes[.queued] ?? 0
    let delivering = min(queued, Int64(inFlightCount))
    for state in EnvelopeState.allCases {
      let count =
        switch state {
        case .queued: queued - delivering
        case .delivering: delivering
        default: statistics.envelopes[state] ?? 0
        }
      writer.sample(("state", state.rawValue), value: count)
    }
  }

  /// How its transactions have gone.
  func writeCommits(to writer: inout ExpositionWriter) {
    writer.begin(
      .histogram, "waystation_store_commit_duration_seconds",
      "How long the store's transactions took to be made durable.")
    writer.histogram(value: commits.durations)
    writer.begin(
      .histogram, "waystation_store_commit_changes",
      "How many envelopes and changes of envelopes each of the store's transactions held.")
    writer.histogram(value: commits.changes)
  }
}
