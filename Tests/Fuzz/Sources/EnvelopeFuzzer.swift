import Compression
import HTTPServer
import JSON
import RelayCore

@testable import RelayServer

/// A post to `/v1/envelopes`, in each of its forms.
///
/// Nothing that cannot be sent becomes a draft, and every refusal is a whole problem.
enum EnvelopeFuzzer {
  /// The limits are small, so that the fuzzer gets to them.
  static let rules: AcceptanceRules = {
    var flags = ConfigurationFlags()
    flags.upstreams = ["default=https://a.example.com", "billing=https://b.example.com"]
    guard case .success(var configuration) = Configuration.load(flags: flags) else {
      fatalError("the fuzzers' own configuration is refused")
    }
    configuration.limits.bodyBytesMax = 300
    configuration.limits.headerCountMax = 4
    configuration.limits.headerBytesMax = 200
    return AcceptanceRules(configuration)
  }()
  static let now = ArrivalTime(WallTime(millisecondsSinceEpoch: 1_772_366_400_000))

  static func run(_ bytes: [UInt8]) {
    guard let form = bytes.first else { return }
    var text = Array(bytes.dropFirst())
    if form & 4 != 0 {
      guard let unpacked = try? GzipDecoder.decode(text, decodedBytesMax: 4096) else { return }
      text = unpacked
    }
    do throws(Problem) {
      switch form & 3 {
      case 0: decode(text, in: nil)
      case 1: for item in try BatchItems.ofArray(text, countMax: 8) { decode(text, in: item) }
      default: for item in try BatchItems.ofLines(text, countMax: 8) { decode(text, in: item) }
      }
    } catch {
      ProblemCheck.check(error)
    }
  }

  private static func decode(_ text: [UInt8], in range: Range<Int>?) {
    do throws(Problem) {
      DraftCheck.check(try EnvelopeDecoder(rules).decode(text, in: range, at: now))
    } catch {
      ProblemCheck.check(error)
    }
  }
}

/// What every refusal has to be.
enum ProblemCheck {
  static func check(_ problem: Problem) {
    guard case .bytes(let body) = problem.response.body else { fatalError("a problem has a body") }
    guard let document = try? JSONValue.parse(body), document["type"] != nil,
      document["detail"] != nil
    else { fatalError("no whole problem: \(String(decoding: body, as: UTF8.self))") }
    expectHolds((400...599).contains(problem.status), "a problem's status")
    expectHolds(body.count < 8192, "a problem is short, whatever was sent: \(body.count)")
  }
}

/// What every draft has to be, so that it can be stored and sent.
enum DraftCheck {
  static func check(_ draft: EnvelopeDraft) {
    for name in [draft.client, draft.lane, draft.key, draft.tag, draft.coalesce].compacted() {
      expectHolds(NameSyntax.isName(Array(name.utf8)[...]), "a name: \(name)")
    }
    let content = draft.content
    expectHolds(
      MethodSyntax.isMethod(Array(content.method.utf8).span), "a method: \(content.method)")
    expectHolds(
      draft.sequence.map { SequenceSyntax.range.contains($0) } ?? true, "a number in range")
    check(content.headers)
    guard draft.references else { return check(target: content.target) }
    guard let template = try? ReferencedContent(content) else {
      fatalError("its references are sound")
    }
    for value in ["x", "a/../b?c#d\r\nX: 1", "\u{0}\u{7F}é\"\\"] {
      guard let filled = try? template.filled({ _ in Array(value.utf8) }) else { continue }
      check(target: filled.target)
      check(filled.headers)
    }
  }

  private static func check(target: [UInt8]) {
    expectHolds(TargetSyntax.refusal(of: target[...]) == nil, "a target that can be sent")
    expectHolds(target.allSatisfy { (0x21...0x7E).contains($0) }, "a target of visible ASCII")
  }

  private static func check(_ headers: RelayCore.HeaderBlock) {
    for field in headers {
      expectHolds(!field.name.isEmpty && field.name.allSatisfy(FieldSyntax.isTokenByte), "a name")
      expectHolds(field.value.allSatisfy(FieldSyntax.isValueByte), "a value")
      for own in ["Host", "Connection", "Transfer-Encoding", "Content-Length"] as [StaticString] {
        expectHolds(!field.isNamed(own), "\(own) is the relay's own")
      }
      expectHolds(!FieldSyntax.hasPrefix(field.name, "Waystation-"), "what the relay says itself")
    }
  }
}

extension Array {
  fileprivate func compacted<Value>() -> [Value] where Element == Value? { compactMap { $0 } }
}
