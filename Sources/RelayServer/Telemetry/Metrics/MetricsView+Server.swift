import HTTPServer
import RelayCore

extension MetricsView {
  /// The senders' and operators' connections.
  func writeConnections(to writer: inout ExpositionWriter) {
    writer.begin(.gauge, "waystation_http_connections", "Connections that are open.")
    for (kind, figures) in zip(listenerKinds, connections) {
      writer.sample(("listener", kind), value: figures.open)
    }
    writer.begin(.counter, "waystation_http_accepted_connections", "Connections that were taken.")
    for (kind, figures) in zip(listenerKinds, connections) {
      writer.sample(("listener", kind), value: figures.accepted)
    }
    writer.begin(
      .counter, "waystation_http_refused_connections",
      "Connections that were turned away, since there were as many as there may be.")
    for (kind, figures) in zip(listenerKinds, connections) {
      writer.sample(("listener", kind), value: figures.refused)
    }
    writer.begin(.counter, "waystation_tls_failed_handshakes", "TLS handshakes that failed.")
    for (kind, count) in zip(listenerKinds, failedHandshakes) {
      writer.sample(("listener", kind), value: count)
    }
    writer.begin(
      .gauge, "waystation_certificate_problems",
      "Certificates and revocation lists of listeners that do not hold just now.")
    writer.sample(value: certificateProblemCount)
  }

  /// The requests.
  func writeRequests(to writer: inout ExpositionWriter) {
    writer.begin(
      .counter, "waystation_http_requests",
      "Requests that were answered, by the class of the status.")
    for (kind, name) in listenerKinds.enumerated() {
      for (codeClass, code) in RequestFigures.classes.enumerated() {
        writer.sample(
          ("listener", name), ("code", code),
          value: requests.cell(kind: kind, codeClass: codeClass).count)
      }
    }
    writer.begin(
      .histogram, "waystation_http_request_duration_seconds",
      "How long requests took until their answers were ready, what they asked to wait for included."
    )
    for (kind, name) in listenerKinds.enumerated() {
      for (codeClass, code) in RequestFigures.classes.enumerated() {
        let durations = requests.cell(kind: kind, codeClass: codeClass).durations
        guard durations.count > 0 else { continue }
        writer.histogram(("listener", name), ("code", code), value: durations)
      }
    }
  }

  /// What is exported of traces.
  func writeSpans(to writer: inout ExpositionWriter) {
    writer.begin(
      .counter, "waystation_trace_spans", "Spans of traces, by what became of them.")
    for (result, count) in [
      ("exported", spans.exported), ("queue_full", spans.full), ("refused", spans.refused),
      ("abandoned", spans.abandoned), ("skipped", spans.skipped),
    ] {
      writer.sample(("result", result), value: count)
    }
    writer.begin(
      .gauge, "waystation_queued_trace_spans", "Spans that wait to be exported.")
    writer.sample(value: spans.waiting)
  }

  /// The event loops and the process.
  func writeProcess(to writer: inout ExpositionWriter) {
    writer.begin(
      .histogram, "waystation_event_loop_lag_seconds",
      "How long rounds of the event loops took: what became ready meanwhile waited up to as long.")
    writer.histogram(value: loopLag)
    writer.begin(.gauge, "waystation_event_loops", "Event loops that serve connections.")
    writer.sample(value: loopCount)
    writer.begin(.counter, "process_cpu_seconds", "Processor time in user and system mode.")
    writer.sample(value: process.cpuSeconds)
    let gauges: [(StaticString, StaticString, Int64)] = [
      ("process_resident_memory_bytes", "Memory that is held in RAM.", process.residentBytes),
      ("process_virtual_memory_bytes", "Memory that is mapped.", process.virtualBytes),
      ("process_threads", "Threads.", process.threadCount),
      ("process_open_fds", "Open file descriptors.", Int64(process.openDescriptors)),
      (
        "process_max_fds", "How many file descriptors may be open.",
        Int64(clamping: process.descriptorsMax)
      ),
    ]
    for (name, help, value) in gauges {
      writer.begin(.gauge, name, help)
      writer.sample(value: value)
    }
    if let startedAtSeconds = process.startedAtSeconds {
      writer.begin(
        .gauge, "process_start_time_seconds", "When the process was started, since the Unix epoch.")
      writer.sample(value: startedAtSeconds)
    }
  }
}
