/// A queue that takes and gives at both ends in constant time: a ring in one array.
package struct Deque<Element> {
  private var slots: [Element?] = []
  private var head = 0
  /// How many elements there are.
  package private(set) var count = 0

  /// An empty queue, which holds no memory.
  package init() {}

  /// Whether there is no element.
  package var isEmpty: Bool { count == 0 }

  /// The first element, or nil.
  package var first: Element? { count == 0 ? nil : slots[head] }

  /// The last element, or nil.
  package var last: Element? { count == 0 ? nil : slots[slot(count - 1)] }

  /// The element at a place, counted from the front.
  package subscript(index: Int) -> Element {
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
  package mutating func append(_ element: Element) {
    growIfFull()
    slots[slot(count)] = element
    count += 1
  }

  /// Adds an element at the front.
  package mutating func prepend(_ element: Element) {
    growIfFull()
    head = head == 0 ? slots.count - 1 : head - 1
    slots[head] = element
    count += 1
  }

  /// Takes the first element, or nil.
  package mutating func popFirst() -> Element? {
    guard count > 0 else { return nil }
    let element = slots[head]
    slots[head] = nil
    head = slot(1)
    count -= 1
    return element
  }

  /// Takes the last element, or nil.
  package mutating func popLast() -> Element? {
    guard count > 0 else { return nil }
    let place = slot(count - 1)
    let element = slots[place]
    slots[place] = nil
    count -= 1
    return element
  }

  /// Takes out the element at a place; those behind it move up, in linear time.
  package mutating func remove(at index: Int) {
    precondition(index >= 0 && index < count, "index out of range")
    for place in index..<(count - 1) { self[place] = self[place + 1] }
    _ = popLast()
  }

  private func slot(_ offset: Int) -> Int {
    let place = head + offset
    return place < slots.count ? place : place - slots.count
  }

  private mutating func growIfFull() {
    guard count == slots.count else { return }
    var grown: [Element?] = []
    grown.reserveCapacity(max(4, count * 2))
    for index in 0..<count { grown.append(slots[slot(index)]) }
    grown.append(contentsOf: repeatElement(nil, count: max(4, count * 2) - count))
    slots = grown
    head = 0
  }
}

extension Deque: Sendable where Element: Sendable {}
