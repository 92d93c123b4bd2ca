import RelayCore

extension MetricFamily {
  /// The store's contents and state.
  static let store: [MetricFamily] = [
    MetricFamily(
      .gauge, "waystation_stored_envelopes", ["state"], "Envelopes that are kept, by their state."
    ) { view, writer in
      for state in EnvelopeState.allCases {
        writer.sample(
          state.rawValue,
          value: view.statistics.count(of: state, inFlight: view.inFlightCount))
      }
    },
    MetricFamily(
      .gauge, "waystation_waiting_bytes", "Bytes of bodies, headers and targets that wait."
    ) { $0.waitingBytes },
    MetricFamily(
      .gauge, "waystation_store_content_bytes",
      "Bytes of bodies, headers and targets that are kept, ended envelopes included."
    ) { $0.statistics.contentBytes },
    MetricFamily(
      ofFiles: .gauge, "waystation_store_file_bytes", "Bytes that the store's files take on disk."
    ) { $0.fileBytes },
    MetricFamily(
      ofFiles: .gauge, "waystation_store_log_bytes",
      "Bytes of the store's log that are not known to be in the database yet."
    ) { $0.logBytes },
    MetricFamily(
      ofFiles: .gauge, "waystation_store_room_bytes",
      "Bytes that new envelopes may still take on disk."
    ) { $0.shownRoomBytes },
    MetricFamily(.gauge, "waystation_known_clients", "Clients that are known.") {
      $0.statistics.names.clients
    },
    MetricFamily(.gauge, "waystation_known_lanes", "Lanes that are known.") {
      $0.statistics.names.lanes
    },
    MetricFamily(.gauge, "waystation_store_trouble", "1 while the store cannot write, else 0.") {
      $0.statistics.trouble == nil ? 0 : 1
    },
    MetricFamily(
      .gauge, "waystation_store_durability_low",
      "1 while the database is known to keep what it commits less safe than is wanted, else 0."
    ) { $0.statistics.durabilityDoubt?.isCertain == true ? 1 : 0 },
    MetricFamily(
      ofFiles: .gauge, "waystation_store_damaged",
      "1 where a part of the store cannot be read, else 0."
    ) { $0.damage.sentence == nil ? 0 : 1 },
  ]

  /// The store's transactions.
  static let commits: [MetricFamily] = [
    MetricFamily(
      .histogram, "waystation_store_commit_duration_seconds", [],
      "How long the store's transactions took to be made durable."
    ) { $1.histogram(value: $0.commits.durations) },
    MetricFamily(
      .histogram, "waystation_store_commit_changes", [],
      "How many envelopes and changes of envelopes each of the store's transactions held."
    ) { $1.histogram(value: $0.commits.changes) },
  ]
}

extension MetricFamily {
  /// A family with one series about the store's files, for a store that has any.
  fileprivate init(
    ofFiles kind: Kind, _ name: StaticString, _ help: StaticString,
    value: @escaping @Sendable (StoreFiles) -> Int64
  ) {
    self.init(kind, name, [], help, isShown: { $0.files != nil }) { view, writer in
      if let files = view.files { writer.sample(value: value(files)) }
    }
  }
}
