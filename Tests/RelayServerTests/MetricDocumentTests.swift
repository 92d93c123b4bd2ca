import Foundation
import Testing

@testable import RelayServer

@Suite("What refers to metrics")
struct MetricDocumentTests {
  private static let families = Dictionary(
    MetricFamily.all.map { ($0.sampleName, $0) }, uniquingKeysWith: { first, _ in first })

  @Test("each family has a name of its own, a sentence, and labels that tell its series apart")
  func families() {
    #expect(Self.families.count == MetricFamily.all.count, "no name stands twice")
    for family in MetricFamily.all {
      let labels = family.labels.map(\.description)
      #expect(family.help.description.hasSuffix("."), "\(family.name)")
      #expect(Set(labels).count == labels.count, "\(family.name)")
      #expect(Set(labels).isDisjoint(with: ["client", "lane", "envelope", "le"]), "\(family.name)")
    }
  }

  /// The families that a row of the table is about; `…` stands for a beginning of the name before.
  private func families(in cell: String) -> [String] {
    var before = ""
    return Documents.quoted(in: cell).flatMap { text -> [String] in
      if text.hasSuffix("…") {
        return Self.families.keys.filter { $0.hasPrefix(text.dropLast()) }.sorted()
      }
      guard text.hasPrefix("…") else {
        before = text
        return [text]
      }
      let parts = before.components(separatedBy: "_")
      let names = parts.indices.reversed().map {
        parts[..<$0].joined(separator: "_") + text.dropFirst()
      }
      return [names.first { Self.families[$0] != nil } ?? text]
    }
  }

  @Test("the operators' table has every family with its labels, and none that there is not")
  func table() throws {
    var missing = Set(Self.families.keys)
    for row in try Documents.table("metric | labels", in: "docs/operating.md") {
      let names = families(in: row[0])
      #expect(!names.isEmpty, "\(row)")
      var labels: Set<String> = []
      for name in names {
        guard let family = Self.families[name] else {
          Issue.record("docs/operating.md has \(name), and there is no such metric")
          continue
        }
        #expect(missing.remove(name) != nil, "\(name) stands twice")
        labels.formUnion(family.labels.map(\.description))
      }
      #expect(Set(Documents.quoted(in: row[1])) == labels, "the labels of \(row[0])")
    }
    for name in missing.sorted() {
      Issue.record("the table of metrics in docs/operating.md lacks \(name)")
    }
  }

  @Test("the dashboard shows each metric that says how an upstream is")
  func dashboard() throws {
    let text = try Documents.text("deploy/grafana/waystation.json")
    for name in Self.families.keys where name.hasPrefix("waystation_upstream_") {
      #expect(text.contains("\(name){"), "\(name)")
    }
  }

  @Test(
    "whatever names a metric names one that there is",
    arguments: [
      "deploy/prometheus/alerts.yml", "deploy/prometheus/alerts_test.yml",
      "deploy/grafana/waystation.json", "docs/alerts.md", "docs/operating.md",
    ])
  func references(_ path: String) throws {
    let text = try Documents.text(path)
    let pattern = #/\b(?:waystation|process)_[a-z0-9_]*[a-z0-9]\b/#
    var known = Set(Self.families.keys)
    for (name, family) in Self.families where family.kind == .histogram {
      known.formUnion(["_bucket", "_sum", "_count"].map { name + $0 })
    }
    let names = Set(text.matches(of: pattern).map { String($0.output) })
    #expect(!names.isEmpty)
    for name in names.subtracting(known).sorted() {
      Issue.record("\(path) has \(name), and there is no such metric")
    }
  }
}
