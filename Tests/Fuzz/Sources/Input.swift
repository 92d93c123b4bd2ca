/// What a fuzzer draws from the bytes that it was given.
struct Input {
  private let bytes: ArraySlice<UInt8>
  /// A small generator (SplitMix64), seeded by the first bytes.
  private var state: UInt64

  /// The first two bytes decide how the others are cut; the others are what is read.
  ///
  /// Two are enough for very different cuts, and leave libFuzzer's changes to what is read.
  init(_ bytes: [UInt8]) {
    self.bytes = bytes.dropFirst(2)
    state = bytes.prefix(2).reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// What is read.
  var rest: [UInt8] { Array(bytes) }

  /// A number below a bound.
  mutating func below(_ bound: Int) -> Int {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return Int((mixed ^ mixed >> 31) % UInt64(bound))
  }

  /// Lengths of pieces that together make `count`; many are of one byte, since that is where the
  /// mistakes are.
  mutating func cuts(of count: Int) -> [Int] {
    var lengths: [Int] = []
    var left = count
    while left > 0 {
      let length = below(3) == 0 ? 1 : below(2) == 0 ? 1 + below(16) : 1 + below(left)
      lengths.append(min(length, left))
      left -= min(length, left)
    }
    return lengths
  }
}

/// Ends the run where two things that must be the same are not.
func expectSame<Value: Equatable>(
  _ one: Value, _ other: Value, _ what: @autoclosure () -> String
) {
  guard one != other else { return }
  fatalError("\(what()) differs: \(one) and \(other)")
}

/// Ends the run where something that must hold does not.
func expectHolds(_ holds: Bool, _ what: @autoclosure () -> String) {
  if !holds { fatalError("does not hold: \(what())") }
}
