import RelayCore
import Testing

@testable import RelayServer

@Suite("The text of metrics")
struct ExpositionTests {
  private func text(
    _ format: ExpositionFormat, _ write: (inout ExpositionWriter) -> Void
  ) -> String {
    var writer = ExpositionWriter(format)
    write(&writer)
    return String(decoding: writer.finish(), as: UTF8.self)
  }

  private func family(
    _ kind: MetricFamily.Kind, _ name: StaticString, _ labels: [StaticString],
    _ help: StaticString
  ) -> MetricFamily {
    MetricFamily(kind, name, labels, help) { _, _ in }
  }

  private func counter(_ writer: inout ExpositionWriter) {
    writer.begin(family(.counter, "waystation_things", ["state", "upstream"], "Things."))
    writer.sample("a", "b", value: 3)
  }

  @Test("a counter's family has the name of its samples in the older format alone")
  func counters() {
    #expect(
      text(.text, counter) == """
        # HELP waystation_things_total Things.
        # TYPE waystation_things_total counter
        waystation_things_total{state="a",upstream="b"} 3

        """)
    #expect(
      text(.openMetrics, counter) == """
        # HELP waystation_things Things.
        # TYPE waystation_things counter
        waystation_things_total{state="a",upstream="b"} 3
        # EOF

        """)
  }

  @Test("backslashes, line ends and quotes of a label are escaped")
  func escaping() {
    let written = text(.text) { writer in
      writer.begin(family(.gauge, "g", ["name"], "a\\b\nc\"d"))
      writer.sample("a\\b\nc\"d}é", value: 1)
    }
    #expect(written.contains(#"# HELP g a\\b\nc"d"#))
    #expect(written.contains(#"g{name="a\\b\nc\"d}é"} 1"#))
    let newer = text(.openMetrics) { $0.begin(family(.gauge, "g", [], "c\"d")) }
    #expect(newer.contains(#"# HELP g c\"d"#))
  }

  @Test("a histogram's buckets add up, and end at infinity with the count of all")
  func histograms() {
    var histogram = Histogram(HistogramBuckets(bounds: [250, 1000, 60_000], unitsPerShown: 1000))
    for value: Int64 in [100, 900, 900, 70_000] { histogram.observe(value) }
    let written = text(.openMetrics) { writer in
      writer.begin(family(.histogram, "wait_seconds", ["upstream"], "Waits."))
      writer.histogram("u", value: histogram)
    }
    #expect(
      written == """
        # HELP wait_seconds Waits.
        # TYPE wait_seconds histogram
        # UNIT wait_seconds seconds
        wait_seconds_bucket{upstream="u",le="0.25"} 1
        wait_seconds_bucket{upstream="u",le="1.0"} 3
        wait_seconds_bucket{upstream="u",le="60.0"} 3
        wait_seconds_bucket{upstream="u",le="+Inf"} 4
        wait_seconds_sum{upstream="u"} 71.9
        wait_seconds_count{upstream="u"} 4
        # EOF

        """)
  }

  @Test("an info is a gauge to those who know no infos")
  func infos() {
    let write = { (writer: inout ExpositionWriter) in
      writer.begin(family(.info, "build", ["version"], "Build."))
      writer.sample("1", value: 1)
    }
    #expect(text(.text, write).contains("# TYPE build_info gauge\nbuild_info{version=\"1\"} 1\n"))
    #expect(
      text(.openMetrics, write).contains("# TYPE build info\nbuild_info{version=\"1\"} 1\n"))
  }

  @Test("numbers are written as both formats read them")
  func numbers() {
    let written = text(.text) { writer in
      writer.begin(family(.gauge, "g", [], "G."))
      for value in [0.5, .infinity, -.infinity, .nan] { writer.sample(value: value) }
      writer.sample(value: UInt64.max)
    }
    #expect(
      written.split(separator: "\n").suffix(5) == [
        "g 0.5", "g +Inf", "g -Inf", "g NaN", "g 18446744073709551615",
      ])
  }

  @Test(
    "the format is the one that is asked for",
    arguments: [
      ("", false), ("*/*", false), ("text/plain", false), ("application/json", false),
      ("application/openmetrics-text", true),
      ("application/openmetrics-text; version=1.0.0", true),
      ("Application/OpenMetrics-Text;Version=\"1.0.0\";charset=utf-8", true),
      ("application/openmetrics-text;version=0.0.1", false),
      ("application/openmetrics-text;q=0", false),
      ("application/openmetrics-text;q=nonsense", false),
      ("application/openmetrics-text;q=0.5,text/plain;q=0.8", false),
      (
        """
        application/openmetrics-text;version=1.0.0,\
        application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1
        """, true
      ),
      (";;;=,,;q", false),
    ])
  func negotiation(accept: String, isOpenMetrics: Bool) {
    let format = ExpositionFormat(AcceptedTypes([Array(accept.utf8)[...]]))
    #expect((format == .openMetrics) == isOpenMetrics)
  }
}
