import HTTPServer
import RelayCore

extension MetricFamily {
  /// The senders' and operators' connections.
  static let connections: [MetricFamily] = [
    listener(.gauge, "waystation_http_connections", "Connections that are open.") {
      $0.connections.map { UInt64($0.open) }
    },
    listener(.counter, "waystation_http_accepted_connections", "Connections that were taken.") {
      $0.connections.map { UInt64($0.accepted) }
    },
    listener(
      .counter, "waystation_http_refused_connections",
      "Connections that were turned away, since there were as many as there may be."
    ) { $0.connections.map { UInt64($0.refused) } },
    listener(.counter, "waystation_tls_failed_handshakes", "TLS handshakes that failed.") {
      $0.failedHandshakes
    },
    MetricFamily(
      .gauge, "waystation_certificate_problems",
      "Certificates and revocation lists that do not hold just now."
    ) { Int64($0.certificateProblemCount) },
  ]

  /// The requests.
  static let requests: [MetricFamily] = [
    MetricFamily(
      .counter, "waystation_http_requests", ["listener", "code"],
      "Requests that were answered, by the class of the status."
    ) { view, writer in
      for (kind, name) in view.listenerKinds.enumerated() {
        for (codeClass, code) in RequestFigures.classes.enumerated() {
          let count = view.requests.cell(kind: kind, codeClass: codeClass).count
          writer.sample(name, code, value: count)
        }
      }
    },
    MetricFamily(
      .histogram, "waystation_http_request_duration_seconds", ["listener", "code"],
      "How long requests took until their answers were ready, what they asked to wait for included."
    ) { view, writer in
      for (kind, name) in view.listenerKinds.enumerated() {
        for (codeClass, code) in RequestFigures.classes.enumerated() {
          let durations = view.requests.cell(kind: kind, codeClass: codeClass).durations
          guard durations.count > 0 else { continue }
          writer.histogram(name, code, value: durations)
        }
      }
    },
  ]

  /// The export of traces.
  static let spans: [MetricFamily] = [
    MetricFamily(
      .counter, "waystation_trace_spans", ["result"], "Spans of traces, by what became of them."
    ) { view, writer in
      let spans = view.spans
      for (result, count) in [
        ("exported", spans.exported), ("queue_full", spans.full), ("refused", spans.refused),
        ("abandoned", spans.abandoned), ("skipped", spans.skipped),
      ] {
        writer.sample(result, value: count)
      }
    },
    MetricFamily(.gauge, "waystation_queued_trace_spans", "Spans that wait to be exported.") {
      Int64($0.spans.waiting)
    },
  ]

  /// The event loops and the process.
  static let process: [MetricFamily] = [
    MetricFamily(
      .histogram, "waystation_event_loop_lag_seconds", [],
      "How long rounds of the event loops took: what became ready meanwhile waited up to as long."
    ) { $1.histogram(value: $0.loopLag) },
    MetricFamily(.gauge, "waystation_event_loops", "Event loops that serve connections.") {
      Int64($0.loopCount)
    },
    MetricFamily(
      .counter, "process_cpu_seconds", [], "Processor time in user and system mode."
    ) { $1.sample(value: $0.process.cpuSeconds) },
    MetricFamily(.gauge, "process_resident_memory_bytes", "Memory that is held in RAM.") {
      $0.process.residentBytes
    },
    MetricFamily(.gauge, "process_virtual_memory_bytes", "Memory that is mapped.") {
      $0.process.virtualBytes
    },
    MetricFamily(.gauge, "process_threads", "Threads.") { $0.process.threadCount },
    MetricFamily(.gauge, "process_open_fds", "Open file descriptors.") {
      Int64($0.process.openDescriptors)
    },
    MetricFamily(.gauge, "process_max_fds", "How many file descriptors may be open.") {
      Int64(clamping: $0.process.descriptorsMax)
    },
    MetricFamily(
      .gauge, "process_start_time_seconds", [],
      "When the process was started, since the Unix epoch.",
      isShown: { $0.process.startedAtSeconds != nil }
    ) { view, writer in
      if let startedAtSeconds = view.process.startedAtSeconds {
        writer.sample(value: startedAtSeconds)
      }
    },
  ]

  /// A family with one series for each kind of listener.
  private static func listener(
    _ kind: Kind, _ name: StaticString, _ help: StaticString,
    _ values: @escaping @Sendable (MetricsView) -> [UInt64]
  ) -> MetricFamily {
    MetricFamily(kind, name, ["listener"], help) { view, writer in
      for (listener, value) in zip(view.listenerKinds, values(view)) {
        writer.sample(listener, value: value)
      }
    }
  }
}
