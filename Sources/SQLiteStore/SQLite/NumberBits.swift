/// A set of numbers from a range, one bit for each number of the range.
struct NumberBits: Sendable {
  /// The most numbers in a range: one mebibyte of bits.
  static let spanMax: Int64 = 1 << 23

  /// The first number of the range.
  let first: Int64
  /// The last number of the range.
  let last: Int64
  private var words: [UInt64]

  /// Makes a set of none or all of the numbers of a range.
  ///
  /// - Precondition: The range has between 1 and ``spanMax`` numbers.
  init(_ stretch: ClosedRange<Int64>, areIn: Bool) {
    precondition(stretch.upperBound - stretch.lowerBound < Self.spanMax, "a stretch is bounded")
    (first, last) = (stretch.lowerBound, stretch.upperBound)
    let count = Int(last - first) / 64 + 1
    words = [UInt64](repeating: areIn ? .max : 0, count: count)
  }

  /// Whether a number is in the set.
  func contains(_ number: Int64) -> Bool {
    guard let place = place(of: number) else { return false }
    return words[place.word] & place.bit != 0
  }

  /// Adds a number of the range.
  mutating func insert(_ number: Int64) {
    guard let place = place(of: number) else { return }
    words[place.word] |= place.bit
  }

  /// Removes a number, in the range or not.
  mutating func remove(_ number: Int64) {
    guard let place = place(of: number) else { return }
    words[place.word] &= ~place.bit
  }

  /// The first number of the set from `number` on; nil if there is none.
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
