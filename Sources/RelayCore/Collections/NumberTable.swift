/// A number that the relay gives out itself, in sequence: of a client, a lane, an upstream, an
/// envelope.
protocol SequentialNumber: Hashable, Comparable, Sendable {
  /// The number as bits.
  var bits: UInt64 { get }
  /// A number that is never given out.
  static var unassigned: Self { get }
}

/// A dictionary keyed by such numbers, whose values are read and changed in place.
///
/// The scheduler looks up lanes and upstreams some forty times for each envelope, mostly for a
/// single field. A `Dictionary` copies a whole value out to read one field of it; this table does
/// not (docs/decisions/0034 has the figures).
struct NumberTable<Key: SequentialNumber, Value: Sendable>: Sendable {
  /// A key and its value.
  typealias Element = (key: Key, value: Value)

  private var storage = NumberTableStorage<Key, Value>()

  /// An empty table.
  init() {}

  /// The number of keys.
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

  /// Changes the value for a key in place.
  ///
  /// The value is nil only if the change sets it to nil.
  ///
  /// - Parameter first: The value to insert first if the key is missing.
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

  /// Changes the value for a key in place; nothing happens if there is none.
  ///
  /// A change through the subscript takes a piece of memory each time, unless the compiler can put
  /// the whole accessor in place: several changes at once belong in here.
  ///
  /// - Returns: What `body` returns; nil if there is no value.
  @discardableResult
  @inline(__always)
  mutating func update<Result>(_ key: Key, _ body: (inout Value) -> Result) -> Result? {
    makeUnique()
    return storage.value(at: storage.slot(of: key)).pointee.update(body)
  }

  /// Removes the value for a key and returns it; nil if there is none.
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

  /// Calls `body` for each value, without copying it.
  func forEachValue(_ body: (Key, borrowing Value) -> Void) {
    for slot in 0..<storage.end {
      if let value = storage.value(at: slot).pointee { body(storage.key(at: slot), value) }
    }
  }

  /// The position of a walk that is done in pieces, between which the table may change.
  struct Walk: Sendable {
    fileprivate var slot = 0
    fileprivate var moveCount = 0
    /// Whether the whole table has been visited.
    fileprivate(set) var isOver = false
  }

  /// Continues a walk: visits the values of some slots in place.
  ///
  /// A value that stays in the table throughout is visited once. One that comes or leaves between
  /// two pieces may be visited or not. Where so many come or leave that the values move, the walk
  /// starts over.
  ///
  /// - Parameters:
  ///   - countMax: The most slots to visit, free ones included.
  ///   - begin: Called when the walk starts or starts over: what was visited before does not count.
  func advance(
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

extension Optional {
  /// Changes the value in place, if there is one.
  @inline(__always)
  fileprivate mutating func update<Result>(_ body: (inout Wrapped) -> Result) -> Result? {
    // The check costs no copy of the value, and binding it would.
    // swift-format-ignore: NeverForceUnwrap
    return self == nil ? nil : body(&self!)
  }
}

extension NumberTable where Value == Int {
  /// The count for a key, or `standard` if there is none.
  subscript(key: Key, default standard: Int) -> Int {
    get { self[key] ?? standard }
    set { self[key] = newValue }
  }
}

extension NumberTable: Sequence {
  /// Iterates over keys and values, in no particular order.
  func makeIterator() -> some IteratorProtocol<Element> {
    let storage = storage
    return (0..<storage.end).lazy.compactMap { slot in
      storage.value(at: slot).pointee.map { (key: storage.key(at: slot), value: $0) }
    }.makeIterator()
  }
}
