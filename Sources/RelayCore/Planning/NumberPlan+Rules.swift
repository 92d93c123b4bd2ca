// The rules of sequence numbers: which came, which are waited for, and which nobody waits for any
// more. In a lane without gaps that is one row for each number, and the lane's own greatest one.
extension NumberPlan {
  /// Plans what a number changes that a lane has not taken yet, and waits for.
  ///
  /// The envelope is parked if something is missing before it, or is only just being put in line.
  ///
  /// - Parameters:
  ///   - gap: The gap that it lies in; nil if it is above all others.
  ///   - placed: The number up to which everything stands in line; nil if nothing is parked.
  package init(
    taking number: Int64, in lane: KnownLane, gap: SequenceRange?, placedThrough placed: Int64?
  ) {
    let before = lane.lastSequence ?? 0
    self.init(number: number, highest: max(number, before))
    if let gap {
      closed = gap
      if number > gap.first { lowerGap = SequenceRange(first: gap.first, last: number - 1) }
      if number < gap.last { upperGap = SequenceRange(first: number + 1, last: gap.last) }
    } else if number > before + 1 {
      upperGap = SequenceRange(first: before + 1, last: number - 1)
    }
    guard number == (placed ?? before) + 1 else {
      isParked = true
      if placed == nil { placedThrough = before }
      return
    }
    if placed != nil {
      placedThrough = number
      mayFlow = true
    }
  }
}
