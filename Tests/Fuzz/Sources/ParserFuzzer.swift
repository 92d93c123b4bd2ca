@testable import HTTPServer

/// A request's head: however its bytes are cut, it is read alike.
enum ParserFuzzer {
  /// Small, so that the fuzzer gets to them.
  static let limits: HTTPLimits = {
    var limits = HTTPLimits()
    limits.requestLineBytesMax = 200
    limits.fieldCountMax = 6
    limits.fieldBytesMax = 400
    return limits
  }()

  static func run(_ bytes: [UInt8]) {
    var input = Input(bytes)
    let text = input.rest
    var whole = RequestParser(limits: limits)
    let atOnce = Outcome(whole.parse(text, 0..<text.count))
    var parser = RequestParser(limits: limits)
    var end = 0
    var inPieces = Outcome.needMore
    for length in input.cuts(of: text.count) {
      end += length
      inPieces = Outcome(parser.parse(text, 0..<end))
      if inPieces != .needMore { break }
    }
    expectSame(inPieces, atOnce, "a head in pieces")
    if case .complete(let head) = atOnce { check(head, within: text) }
  }

  /// What a parser made of some bytes, so that it can be compared.
  enum Outcome: Equatable {
    case needMore
    case refused(ProtocolProblem)
    case complete(Head)

    init(_ result: RequestParser.Result) {
      switch result {
      case .needMore: self = .needMore
      case .refused(let problem): self = .refused(problem)
      case .complete(let head, let end): self = .complete(Head(head, end: end))
      }
    }
  }

  struct Head: Equatable {
    let end: Int
    let bytes: [UInt8]
    let method: String
    let target: [UInt8]
    let path: [UInt8]
    let query: [UInt8]?
    let framing: BodyFraming
    let keepsAlive: Bool
    let expectsContinue: Bool
    let fields: [[[UInt8]]]

    init(_ head: RequestHead, end: Int) {
      self.end = end
      bytes = head.bytes
      method = head.method.description
      target = Array(head.target)
      path = Array(head.path)
      query = head.query.map { Array($0) }
      framing = head.framing
      keepsAlive = head.wantsKeepAlive
      expectsContinue = head.expectsContinue
      fields = head.fields.map { [Array(head.name(of: $0)), Array(head.value(of: $0))] }
    }
  }

  private static func check(_ head: Head, within text: [UInt8]) {
    expectHolds(
      head.bytes.suffix(4).elementsEqual([13, 10, 13, 10]), "a head ends in an empty line")
    expectHolds(head.end <= text.count, "a head ends within what was given")
    expectHolds(head.fields.count <= limits.fieldCountMax, "no more fields than there may be")
    for (index, byte) in head.bytes.enumerated() {
      if byte == 10 { expectHolds(index > 0 && head.bytes[index - 1] == 13, "no bare LF") }
      if byte == 13 { expectHolds(head.bytes[index + 1] == 10, "no bare CR") }
      expectHolds(byte != 0, "no NUL")
    }
    var names = head.fields.map { String(decoding: $0[0], as: UTF8.self).lowercased() }
    names.sort()
    let framings = names.filter { $0 == "content-length" || $0 == "transfer-encoding" }
    expectHolds(framings.count <= 1, "one field at the most says how the body is framed")
    expectHolds((head.framing == .none) == framings.isEmpty, "a body is framed by a field")
    expectHolds(names.filter { $0 == "host" }.count <= 1, "one Host at the most")
  }
}
