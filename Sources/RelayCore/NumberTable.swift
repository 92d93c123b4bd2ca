/// A number that the relay has given out itself, one after the other: of a client, a lane, an
/// upstream, an envelope.
protocol SequentialNumber: Hashable, Comparable, Sendable {
  /// The number, as bits.
  var bits: UInt64 { get }
  /// One that is never given out.
  static var unassigned: Self { get }
}

extension Serial: SequentialNumber {
  var bits: UInt64 { UInt64(bitPattern: self) }
  static var unassigned: Serial { 0 }
}

extension ClientNumber: SequentialNumber {
  var bits: UInt64 { rawValue.bits }
  static var unassigned: ClientNumber { ClientNumber(rawValue: 0) }
}

extension LaneNumber: SequentialNumber {
  var bits: UInt64 { rawValue.bits }
  static var unassigned: LaneNumber { LaneNumber(rawValue: 0) }
}

extension UpstreamNumber: SequentialNumber {
  var bits: UInt64 { UInt64(UInt32(bitPattern: rawValue)) }
  static var unassigned: UpstreamNumber { UpstreamNumber(rawValue: 0) }
}

/// A dictionary by such numbers, whose values are read and changed where they lie.
///
/// The scheduler looks up lanes and upstreams some forty times for each envelope, mostly for a
/// single field. A `Dictionary` copies a value out to read a part of it; here what is looked at
/// stays where it is (docs/decisions/0034 has the figures).
struct NumberTable<Key: SequentialNumber, Value: Sendable>: Sendable {
  /// A key and its value.
  typealias Element = (key: Key, value: Value)

  private var storage = NumberTableStorage<Key, Value>()

  /// An empty table.
  init() {}

  /// How many keys there are.
  var count: Int { storage.count }

  /// Whether there is no key.
  var isEmpty: Bool { storage.count == 0 }

  /// The value for a key; setting it to nil removes the key.
  subscript(key: Key) -> Value? {
    @inline(__always)
    _read { yield storage.value(at: storage.slot(of: key)).pointee }
    @inline(__always)
    _modify {
      makeUnique()
      let slot = storage.slot(of: key)
      yield &storage.value(at: slot).pointee
      storage.settle(slot, key)
    }
  }

  /// Changes the value for a key where it lies; it is never nil unless the change has it so.
  ///
  /// - Parameter first: What is put there before, if the key is not there.
  @inline(__always)
  mutating func change(
    _ key: Key, orFirst first: @autoclosure () -> Value, _ body: (inout Value?) -> Void
  ) {
    makeUnique()
    var slot = storage.slot(of: key)
    if slot == NumberTableStorage<Key, Value>.absent { slot = storage.insert(key, first()) }
    body(&storage.value(at: slot).pointee)
    storage.settle(slot, key)
  }

  /// Takes a value out; nil where there is none.
  @discardableResult
  mutating func removeValue(forKey key: Key) -> Value? {
    makeUnique()
    let slot = storage.slot(of: key)
    let value = storage.value(at: slot).pointee.take()
    storage.settle(slot, key)
    return value
  }

  /// The keys, in no particular order.
  var keys: [Key] { map(\.key) }

  /// The values, in no particular order.
  var values: some Sequence<Value> { lazy.map(\.value) }

  /// Looks at each value where it lies.
  func forEachValue(_ body: (Key, borrowing Value) -> Void) {
    for slot in 0..<storage.end {
      if let value = storage.value(at: slot).pointee { body(storage.key(at: slot), value) }
    }
  }

  /// Where a walk stands that is done in pieces, between which the table may change.
  struct Walk: Sendable {
    fileprivate var slot = 0
    fileprivate var moveCount = 0
    /// Whether all of the table has been gone through.
    fileprivate(set) var isOver = false
  }

  /// Goes on with a walk: looks at the values of some slots where they lie.
  ///
  /// What is in the table all the while is looked at once. What comes or leaves between two pieces
  /// may be looked at or not; where so much of it does that the values move, all begins anew.
  ///
  /// - Parameters:
  ///   - countMax: How many slots, free ones among them.
  ///   - begin: Called first if the walk begins: nothing counts that it has shown before.
  func goOn(
    _ walk: inout Walk, countMax: Int, begin: () -> Void, _ body: (Key, borrowing Value) -> Void
  ) {
    if walk.slot == 0 || walk.moveCount != storage.moveCount {
      (walk.slot, walk.moveCount) = (0, storage.moveCount)
      begin()
    }
    let end = storage.end - walk.slot > countMax ? walk.slot + countMax : storage.end
    for slot in walk.slot..<end {
      if let value = storage.value(at: slot).pointee { body(storage.key(at: slot), value) }
    }
    walk.slot = end
    walk.isOver = end == storage.end
  }

  private mutating func makeUnique() {
    if !isKnownUniquelyReferenced(&storage) { storage = NumberTableStorage(copying: storage) }
  }
}

extension NumberTable where Value == Int {
  /// The count for a key, or another one where there is none.
  subscript(key: Key, default standard: Int) -> Int {
    get { self[key] ?? standard }
    set { self[key] = newValue }
  }
}

extension NumberTable: Sequence {
  /// Goes through what is there, in no particular order.
  func makeIterator() -> some IteratorProtocol<Element> {
    let storage = storage
    return (0..<storage.end).lazy.compactMap { slot in
      storage.value(at: slot).pointee.map { (key: storage.key(at: slot), value: $0) }
    }.makeIterator()
  }
}
