import RelayCore

// What has changed from one configuration to the next.
extension Configuration {
  /// What a running relay cannot take up, beside what it goes by now.
  package func obstacles(after old: Configuration) -> [ConfigurationProblem] {
    func restart(_ key: String, _ reason: String) -> ConfigurationProblem {
      ConfigurationProblem(key: key, reason: "\(reason); restart the relay to change it")
    }
    var problems: [ConfigurationProblem] = []
    if listen != old.listen {
      problems.append(restart("listen", "a listener is bound once, at the start"))
    }
    if data != old.data {
      problems.append(restart("data", "the store is opened once, at the start"))
    }
    if lanes != old.lanes {
      problems.append(
        restart("lanes", "envelopes wait in the order that was in force when the line was read"))
    }
    if clock != old.clock {
      problems.append(restart("clock", "the clock is taken up once, at the start"))
    }
    return problems
  }

  /// The sections that say something else than before; upstreams by their names.
  package func changes(since old: Configuration) -> [String] {
    var changes: [String] = []
    if access != old.access { changes.append("access") }
    for upstream in upstreams where old.upstream(named: upstream.name) != upstream {
      changes.append("upstreams.\(upstream.name)")
    }
    for upstream in old.upstreams where self.upstream(named: upstream.name) == nil {
      changes.append("upstreams.\(upstream.name)")
    }
    if clients != old.clients { changes.append("clients") }
    if collections != old.collections { changes.append("collections") }
    if limits != old.limits { changes.append("limits") }
    if retention != old.retention { changes.append("retention") }
    if events != old.events { changes.append("events") }
    if audit != old.audit { changes.append("audit") }
    if tracing != old.tracing { changes.append("tracing") }
    if log != old.log { changes.append("log") }
    if shutdownGraceSeconds != old.shutdownGraceSeconds { changes.append("shutdownGraceSeconds") }
    return changes
  }
}
