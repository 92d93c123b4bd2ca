import RelayCore

extension AuditFiles {
  /// Takes the next number, or gives it up, and makes a receipt now and then.
  mutating func takeAny(_ random: inout SplitMix64) {
    switch Int.random(in: 0..<10, using: &random) {
    case 0: giveUp()
    case 1..<7: take(.delivered, requests: Int.random(in: 1...2, using: &random))
    default:
      let states: [EnvelopeState?] = [.failed, .expired, .cancelled, nil]
      take(
        states.randomElement(using: &random) ?? nil,
        requests: Int.random(in: 0...1, using: &random))
    }
    if rows.last?.number == chain.through, Int.random(in: 0..<5, using: &random) == 0 { receipt() }
  }

  /// Tampers with something.
  mutating func tamper(_ random: inout SplitMix64) {
    guard let row = rows.indices.randomElement(using: &random),
      let request = requests.indices.randomElement(using: &random)
    else { return }
    let other = Line(Int64.random(in: numbers.first...numbers.last + 2, using: &random))
    switch Int.random(in: 0..<11, using: &random) {
    case 0: rows.remove(at: row)
    case 1: rows[row].digest = digest(other)
    case 2: rows[row].link = digest(other)
    case 3:
      rows[row].digest = digest(other)
      relink()
    case 4:
      rows.remove(at: row)
      relink()
    case 5: rows[row].ending = Self.ending(.delivered)
    case 6: requests.remove(at: request)
    case 7: requests[request].body = other.body
    case 8: requests.swapAt(request, requests.count / 2)
    case 9: requests.insert(other, at: request)
    default:
      let middle = Int64.random(in: numbers.first...numbers.last, using: &random)
      pages = [
        SequenceRange(first: numbers.first, last: middle),
        SequenceRange(first: min(middle + other.number % 3, numbers.last), last: numbers.last),
      ]
    }
  }
}
