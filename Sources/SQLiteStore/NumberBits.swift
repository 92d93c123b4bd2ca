/// Some of the numbers of a stretch, one bit for each number of the stretch.
struct NumberBits: Sendable {
  /// How many numbers a stretch has at the most: one mebibyte of bits.
  static let spanMax: Int64 = 1 << 23

  /// The first number of the stretch.
  let first: Int64
  /// The last one.
  let last: Int64
  private var words: [UInt64]

  /// None, or all, of the numbers of a stretch.
  ///
  /// - Precondition: The stretch has between 1 and ``spanMax`` numbers.
  init(_ stretch: ClosedRange<Int64>, areIn: Bool) {
    precondition(stretch.upperBound - stretch.lowerBound < Self.spanMax, "a stretch is bounded")
    (first, last) = (stretch.lowerBound, stretch.upperBound)
    let count = Int(last - first) / 64 + 1
    words = [UInt64](repeating: areIn ? .max : 0, count: count)
  }

  /// Whether a number is one of them.
  func contains(_ number: Int64) -> Bool {
    guard let place = place(of: number) else { return false }
    return words[place.word] & place.bit != 0
  }

  /// Adds a number of the stretch.
  mutating func insert(_ number: Int64) {
    guard let place = place(of: number) else { return }
    words[place.word] |= place.bit
  }

  /// Takes a number out, wherever it lies.
  mutating func remove(_ number: Int64) {
    guard let place = place(of: number) else { return }
    words[place.word] &= ~place.bit
  }

  /// The first of them from a number on; nil if there is none.
  func next(from number: Int64) -> Int64? {
    guard number <= last else { return nil }
    let start = max(number, first)
    var word = Int(start - first) / 64
    var bits = words[word] & (.max << UInt64((start - first) % 64))
    while bits == 0 {
      word += 1
      guard word < words.count else { return nil }
      bits = words[word]
    }
    let found = first + Int64(word * 64 + bits.trailingZeroBitCount)
    return found <= last ? found : nil
  }

  private func place(of number: Int64) -> (word: Int, bit: UInt64)? {
    guard number >= first, number <= last else { return nil }
    let offset = Int(number - first)
    return (offset / 64, 1 << UInt64(offset % 64))
  }
}
