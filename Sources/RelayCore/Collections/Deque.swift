/// A queue that takes and gives at both ends in constant time: a ring in one array.
///
/// Public, though for this package alone: only public types are specialised for the elements that
/// other targets put into them (docs/decisions/0007).
public struct Deque<Element> {
  private var slots: [Element?] = []
  private var head = 0
  /// The number of elements.
  public private(set) var count = 0
  /// The number of elements that there is memory for.
  public var capacity: Int { slots.count }

  /// Makes an empty queue, which holds no memory.
  public init() {}

  /// Whether the queue is empty.
  public var isEmpty: Bool { count == 0 }

  /// The first element, or nil.
  public var first: Element? { count == 0 ? nil : slots[head] }

  /// The last element, or nil.
  public var last: Element? { count == 0 ? nil : slots[slot(count - 1)] }

  /// The element at an index, counted from the front.
  public subscript(index: Int) -> Element {
    get {
      precondition(index >= 0 && index < count, "index out of range")
      guard let element = slots[slot(index)] else { preconditionFailure("an empty slot") }
      return element
    }
    set {
      precondition(index >= 0 && index < count, "index out of range")
      slots[slot(index)] = newValue
    }
  }

  /// Adds an element at the end.
  public mutating func append(_ element: Element) {
    growIfFull()
    slots[slot(count)] = element
    count += 1
  }

  /// Adds an element at the front.
  public mutating func prepend(_ element: Element) {
    growIfFull()
    head = head == 0 ? slots.count - 1 : head - 1
    slots[head] = element
    count += 1
  }

  /// Removes and returns the first element; nil if the queue is empty.
  public mutating func popFirst() -> Element? {
    guard count > 0 else { return nil }
    let element = slots[head]
    slots[head] = nil
    head = slot(1)
    count -= 1
    shrinkIfSparse()
    return element
  }

  /// Removes and returns the last element; nil if the queue is empty.
  public mutating func popLast() -> Element? {
    guard count > 0 else { return nil }
    let place = slot(count - 1)
    let element = slots[place]
    slots[place] = nil
    count -= 1
    shrinkIfSparse()
    return element
  }

  /// Inserts an element before the one at an index; the elements on the shorter side move.
  public mutating func insert(_ element: Element, at index: Int) {
    precondition(index >= 0 && index <= count, "index out of range")
    if index < count / 2 {
      prepend(element)
      for place in 0..<index { self[place] = self[place + 1] }
    } else {
      append(element)
      for place in stride(from: count - 1, to: index, by: -1) { self[place] = self[place - 1] }
    }
    self[index] = element
  }

  /// Removes the element at an index.
  ///
  /// The elements on the shorter side move, so it costs little near either end.
  public mutating func remove(at index: Int) {
    precondition(index >= 0 && index < count, "index out of range")
    if index < count / 2 {
      for place in stride(from: index, to: 0, by: -1) { self[place] = self[place - 1] }
      _ = popFirst()
    } else {
      for place in index..<(count - 1) { self[place] = self[place + 1] }
      _ = popLast()
    }
  }

  private func slot(_ offset: Int) -> Int {
    let place = head + offset
    return place < slots.count ? place : place - slots.count
  }

  private mutating func growIfFull() {
    if count == slots.count { move(toSlots: max(Self.slotsMin, count * 2)) }
  }

  /// Gives memory back when most of it is unused, so that a queue that was long once does not stay
  /// large.
  private mutating func shrinkIfSparse() {
    guard slots.count > Self.slotsKept, count < slots.count / 4 else { return }
    move(toSlots: slots.count / 2)
  }

  private mutating func move(toSlots slotCount: Int) {
    var moved: [Element?] = []
    moved.reserveCapacity(slotCount)
    for index in 0..<count { moved.append(slots[slot(index)]) }
    moved.append(contentsOf: repeatElement(nil, count: slotCount - count))
    slots = moved
    head = 0
  }

  private static var slotsMin: Int { 4 }
  /// The number of slots that are never worth giving back.
  private static var slotsKept: Int { 64 }
}

extension Deque: Sendable where Element: Sendable {}
