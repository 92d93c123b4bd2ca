import EventLoop
import RelayCore

extension Configuration {
  /// Checks what no value can show by itself: that values fit together.
  func checkRelations(_ problems: ProblemCollector) {
    for upstream in upstreams { upstream.checkRelations(problems) }
    checkAccess(problems)
    notAbove(
      "limits.bodyBytesMax", limits.bodyBytesMax, "limits.memoryInFlightBytesMax",
      limits.memoryInFlightBytesMax, problems)
    notAbove(
      "limits.spoolThresholdBytes", limits.spoolThresholdBytes,
      "limits.memoryInFlightBytesMax", limits.memoryInFlightBytesMax, problems)
    // Each byte of a batch is counted as it came and as it was decoded, and a large request has to
    // leave a quarter of the memory to small ones (MemoryBudget): a larger batch would never fit.
    notAbove(
      "limits.batchBytesMax", limits.batchBytesMax,
      "three eighths of limits.memoryInFlightBytesMax", limits.memoryInFlightBytesMax / 8 * 3,
      problems)
    if let ofOneClient = limits.clientWaitingEnvelopesMax {
      notAbove(
        "limits.clientWaitingEnvelopesMax", ofOneClient, "limits.waitingEnvelopesMax",
        limits.waitingEnvelopesMax, problems)
    }
    if let ofOneClient = limits.clientWaitingBytesMax, let ofAll = limits.waitingBytesMax {
      notAbove(
        "limits.clientWaitingBytesMax", ofOneClient, "limits.waitingBytesMax", ofAll, problems)
    }
    notAbove(
      "tracing.batchSpansMax", tracing.queue.batchSpansMax, "tracing.queueSpansMax",
      tracing.queue.spansMax, problems)
    if let name = notify.upstream, upstream(named: name) == nil {
      problems.add(
        "notify.upstream", "no upstream of this name is configured: \(name.quoted)")
    }
    if notify.upstream == nil, notify.path != NotifyConfiguration().path {
      problems.add("notify.path", "goes with \"notify.upstream\": without it nobody is told")
    }
    if let receipts, receipts.keys == nil, store.postgres != nil {
      problems.add(
        "receipts.keys",
        "is missing: with \"store.postgres\" there is no data folder that could hold the keys; name"
          + " a folder")
    }
    if receipts == nil {
      for lane in lanes.entries where lane.value.isEvidence {
        problems.add(
          "lanes.\(lane.pattern).evidence", "goes with \"receipts\": without it nothing is signed")
      }
    }
    for (index, listener) in listen.enumerated()
    where !listener.endpoint.takesAnyPort
      && listen[..<index].contains(where: { $0.endpoint == listener.endpoint })
    {
      problems.add("listen", "\(listener) stands there twice")
    }
    checkRelays(problems)
    checkStore(problems)
  }
}

extension Configuration {
  /// The listener for other relays; nil if there is none.
  package var relaysListener: ListenerConfiguration? {
    listen.first { $0.audience == .relays }
  }

  private func checkRelays(_ problems: ProblemCollector) {
    let count = listen.count { $0.audience == .relays }
    if count > 1 {
      problems.add("listen", "has \(count) listeners for relays: the others ask at one alone")
    }
    if count > 0, store.postgres == nil {
      problems.add(
        "listen",
        "has a listener for relays, which goes with \"store.postgres\": relays that share"
          + " no store have nothing to pass on")
    }
    if count > 0, count == listen.count {
      problems.add("listen", "has only a listener for relays: nobody else could reach the relay")
    }
  }
}

extension Configuration {
  /// Checks that a database is named.
  ///
  /// A variable may do it, where the file says only the rest.
  private func checkStore(_ problems: ProblemCollector) {
    let key = "store.postgres.url"
    guard let postgres = store.postgres, postgres.url == nil,
      !problems.problems.contains(where: { $0.key == key })
    else { return }
    problems.add(key, "is missing: it says where the database is")
  }
}

extension UpstreamConfiguration {
  fileprivate func checkRelations(_ problems: ProblemCollector) {
    let path = "upstreams.\(name)"
    checkTimeouts(path, problems)
    checkAmbiguity(path, problems)
    checkSigning(path, problems)
    checkBatch(path, problems)
    if burst != nil, requestsPerSecondMax == nil {
      problems.add(
        "\(path).burst", "goes with \"requestsPerSecondMax\", the rate that it belongs to")
    }
    checkIdentity(path, problems)
    checkCredentials(path, problems)
    notAbove(
      "\(path).retry.firstDelayMs", retry.firstDelayMs, "\(path).retry.maxDelayMs",
      retry.maxDelayMs, problems)
    notAbove(
      "\(path).reachability.firstProbeDelayMs", reachability.firstProbeDelayMs,
      "\(path).reachability.maxProbeDelayMs", reachability.maxProbeDelayMs, problems)
    if let code = outcomes.retry.firstInCommon(with: outcomes.deliver) {
      problems.add("\(path).outcomes", "the status \(code) stands under both retry and deliver")
    }
  }
}

extension UpstreamConfiguration {
  private func checkTimeouts(_ path: String, _ problems: ProblemCollector) {
    guard let attemptTimeoutMs else {
      if idleTimeoutMs == nil {
        problems.add(
          "\(path).attemptTimeoutMs",
          "may be null only where idleTimeoutMs is set: an attempt has"
            + " to end some time")
      }
      return
    }
    if connectTimeoutMs > attemptTimeoutMs {
      let isDefault = connectTimeoutMs == Self.connectTimeoutMsUsual
      problems.add(
        "\(path).connectTimeoutMs",
        "must not be above \(path).attemptTimeoutMs: \(connectTimeoutMs)"
          + (isDefault ? " (the default)" : "") + " is above \(attemptTimeoutMs)")
    }
    if let idleTimeoutMs {
      notAbove(
        "\(path).idleTimeoutMs", idleTimeoutMs, "\(path).attemptTimeoutMs", attemptTimeoutMs,
        problems)
    }
  }

  /// What may have arrived is asked for one by one, and recorded before each attempt.
  private func checkBatch(_ path: String, _ problems: ProblemCollector) {
    if batch.format != nil, ambiguous != .retry {
      problems.add("\(path).batch", "envelopes go together only with \"ambiguous\": \"retry\"")
    }
    if batch.format == .waystation {
      if batch.path != nil || batch.from != nil {
        problems.add(
          "\(path).batch", "a relay takes all envelopes in one place: leave out path and from")
      }
      if batch.results != .optional {
        problems.add("\(path).batch.results", "a relay answers with results always: leave it out")
      }
    } else if batch.upstream != nil {
      problems.add("\(path).batch.upstream", "it is meant for the format \"waystation\" alone")
    }
  }

  private func checkAmbiguity(_ path: String, _ problems: ProblemCollector) {
    if ambiguous == .verify, verify == nil {
      problems.add("\(path).ambiguous", "\"verify\" needs verify.path, where the upstream is asked")
    }
    if ambiguous != .verify, verify != nil {
      problems.add(
        "\(path).verify",
        "nothing is verified unless ambiguous is \"verify\"; it is"
          + " \"\(ambiguous.rawValue)\"")
    }
  }
}

extension UpstreamConfiguration {
  private func checkSigning(_ path: String, _ problems: ProblemCollector) {
    guard let signing, !signing.keys.isEmpty else { return }
    for header in headers where header.name.lowercased().hasPrefix("webhook-") {
      problems.add("\(path).headers.\(header.name)", "the relay sets this field, since it signs")
    }
  }
}

extension UpstreamConfiguration {
  private func checkCredentials(_ path: String, _ problems: ProblemCollector) {
    guard let credentials else { return }
    for header in headers where credentials.ownFields.contains(header.name.lowercased()) {
      problems.add(
        "\(path).headers.\(header.name)",
        "the relay sets this field by \"credentials\"; name one of the two")
    }
  }

  private func checkIdentity(_ path: String, _ problems: ProblemCollector) {
    switch (clientCertificate, clientKey) {
    case (nil, nil): return
    case (_, nil):
      problems.add("\(path).clientCertificate", "goes with \"clientKey\", the file of its key")
    case (nil, _):
      problems.add(
        "\(path).clientKey", "goes with \"clientCertificate\", the file of its certificate")
    default: break
    }
    if url.scheme == .http {
      problems.add(
        "\(path).clientCertificate", "needs a url with https: nothing is shown without TLS")
    }
  }
}

private func notAbove(
  _ key: String, _ value: some BinaryInteger, _ otherKey: String, _ other: some BinaryInteger,
  _ problems: ProblemCollector
) {
  guard value > other else { return }
  problems.add(key, "must not be above \(otherKey): \(value) is above \(other)")
}
