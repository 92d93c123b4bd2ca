/// How many things are of which time: exact in their number, and in time to a minute, as far as the
/// last quarter of an hour goes.
///
/// Its size is bounded, however many there are: things that are close together share a span, and
/// the oldest spans become one.
package struct TimeTally: Sendable, Equatable {
  /// The longest span, but for the oldest one, in milliseconds.
  static let spanMs: Int64 = 60_000
  /// The most spans.
  static let spansMax = 17

  /// Things whose times lie from the first one to the last one.
  private struct Span: Sendable, Equatable {
    var first: WallTime
    var last: WallTime
    var count: Int
  }

  /// The oldest first; none reaches into another.
  private var spans: [Span] = []

  /// Nothing.
  package init() {}

  /// The number of things.
  package var count: Int { spans.reduce(0) { $0 + $1.count } }

  /// The time of the oldest, or an earlier one of its span; nil if there is nothing.
  package var earliest: WallTime? { spans.first?.first }

  /// The number of things of a time or earlier, with those that share a span with one of them.
  package func count(through time: WallTime) -> Int {
    spans.prefix { $0.first <= time }.reduce(0) { $0 + $1.count }
  }

  /// Adds a thing.
  package mutating func insert(_ time: WallTime) {
    guard let last = spans.last, last.first <= time,
      time <= last.last || time.milliseconds(since: last.first) < Self.spanMs
    else { return insert(Span(first: time, last: time, count: 1)) }
    spans[spans.count - 1].last = max(last.last, time)
    spans[spans.count - 1].count += 1
  }

  /// Adds what another one has.
  package mutating func add(_ other: TimeTally) {
    for span in other.spans { insert(span) }
  }

  /// Takes out a thing that was added with this time.
  package mutating func remove(_ time: WallTime) {
    guard !spans.isEmpty else { return }
    let place = spans.lastIndex { $0.first <= time } ?? 0
    spans[place].count -= 1
    if spans[place].count == 0 { spans.remove(at: place) }
  }

  private mutating func insert(_ span: Span) {
    let place = spans.firstIndex { span.first < $0.first } ?? spans.count
    spans.insert(span, at: place)
    join(from: max(place - 1, 0))
    if spans.count > Self.spansMax { joinPair(at: 0) }
  }

  /// Joins spans that reach into one another, or are short enough together.
  private mutating func join(from start: Int) {
    var place = start
    while place + 1 < spans.count {
      let (span, next) = (spans[place], spans[place + 1])
      let isOne =
        next.first <= span.last || next.last.milliseconds(since: span.first) < Self.spanMs
      if isOne { joinPair(at: place) } else { place += 1 }
    }
  }

  private mutating func joinPair(at place: Int) {
    let next = spans.remove(at: place + 1)
    spans[place].last = max(spans[place].last, next.last)
    spans[place].count += next.count
  }
}
