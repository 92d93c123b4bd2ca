/// Where a ``NumberTable`` has its keys and values.
///
/// Values lie in slots, in the order in which they came, until some leave; a table of places says
/// by a key's hash in which. Since nobody chooses the keys, one multiplication scatters them
/// (Knuth, The Art of Computer Programming, volume 3, section 6.4); what collides goes to the next
/// place that is free.
// Sound: only the table that holds it reaches it, changes it only while no other table does, and
// makes a copy of it first otherwise.
final class NumberTableStorage<Key: SequentialNumber, Value: Sendable>: @unchecked Sendable {
  private struct Slot {
    var value: Value?
    var key: Key
  }

  /// How many keys there are.
  private(set) var count = 0
  /// How many slots were ever used, from the first on; those among them that are free are in
  /// ``freeSlots``.
  private(set) var end = 0
  private var freeSlots: [Int] = []
  // Sound: has room for `capacity` slots, and for one before them, which holds no value and stands
  // for keys that are not there. That and the first `end` slots are initialized.
  private var slots: UnsafeMutablePointer<Slot>
  private var capacity: Int
  /// By hash, the number of a slot plus one, or 0.
  // Sound: has room for, and is initialized for, twice `capacity`, a power of two.
  private var places: UnsafeMutablePointer<UInt32>
  /// A hash is the upper bits of a product: how many bits are left away.
  private var shift: UInt64

  private static var capacityMin: Int { 4 }
  /// 2^64 divided by the golden ratio.
  private static var multiplier: UInt64 { 0x9E37_79B9_7F4A_7C15 }
  /// The slot of keys that are not there.
  static var absent: Int { -1 }

  /// Makes room for a few.
  init() {
    capacity = Self.capacityMin
    (slots, places, shift) = Self.makeRoom(capacity)
  }

  /// Copies all that is there.
  init(copying other: NumberTableStorage) {
    capacity = other.capacity
    count = other.count
    end = other.end
    freeSlots = other.freeSlots
    (slots, places, shift) = Self.makeRoom(capacity)
    slots.initialize(from: other.slots, count: end)
    places.update(from: other.places, count: capacity * 2)
  }

  private static func makeRoom(
    _ capacity: Int
  ) -> (UnsafeMutablePointer<Slot>, UnsafeMutablePointer<UInt32>, UInt64) {
    let room = UnsafeMutablePointer<Slot>.allocate(capacity: capacity + 1)
    room.initialize(to: Slot(value: nil, key: Key.unassigned))
    let places = UnsafeMutablePointer<UInt32>.allocate(capacity: capacity * 2)
    places.initialize(repeating: 0, count: capacity * 2)
    return (room + 1, places, UInt64(64 - (capacity * 2).trailingZeroBitCount))
  }

  deinit {
    (slots - 1).deinitialize(count: end + 1)
    (slots - 1).deallocate()
    places.deallocate()
  }

  // MARK: - Looking up

  /// The slot of a key, or one that holds no value if it is not there.
  @inline(__always)
  func slot(of key: Key) -> Int {
    var place = home(of: key)
    while places[place] != 0 {
      let slot = Int(places[place]) - 1
      if slots[slot].key == key { return slot }
      place = next(place)
    }
    return Self.absent
  }

  /// Where a slot's value lies, until something is added.
  @inline(__always)
  func value(at slot: Int) -> UnsafeMutablePointer<Value?> {
    // Sound: the value stands first in its slot, and so at its address.
    UnsafeMutableRawPointer(slots + slot).assumingMemoryBound(to: Value?.self)
  }

  /// The key of a slot that holds a value.
  func key(at slot: Int) -> Key { slots[slot].key }

  @inline(__always)
  private func home(of key: Key) -> Int {
    Int(truncatingIfNeeded: (key.bits &* Self.multiplier) &>> shift)
  }

  @inline(__always)
  private func next(_ place: Int) -> Int { (place + 1) & (capacity * 2 - 1) }

  // MARK: - Changing

  /// A slot's value may have been set or taken: a key comes to be, or leaves.
  @inline(__always)
  func settle(_ slot: Int, _ key: Key) {
    if (slots[slot].value == nil) != (slot == Self.absent) { settleOther(slot, key) }
  }

  private func settleOther(_ slot: Int, _ key: Key) {
    if slot == Self.absent {
      insert(key, slots[slot].value.take())
    } else {
      forget(slot)
    }
  }

  /// Adds a key that is not there.
  ///
  /// - Returns: Its slot.
  @discardableResult
  func insert(_ key: Key, _ value: Value?) -> Int {
    if count == capacity { grow() }
    let slot: Int
    if let free = freeSlots.popLast() {
      slot = free
      slots[slot] = Slot(value: value, key: key)
    } else {
      slot = end
      (slots + slot).initialize(to: Slot(value: value, key: key))
      end += 1
    }
    count += 1
    place(slot)
    return slot
  }

  private func place(_ slot: Int) {
    var place = home(of: slots[slot].key)
    while places[place] != 0 { place = next(place) }
    places[place] = UInt32(slot + 1)
  }

  /// Makes room for twice as many; all slots are in use.
  private func grow() {
    let (oldSlots, oldPlaces) = (slots, places)
    capacity *= 2
    (slots, places, shift) = Self.makeRoom(capacity)
    slots.moveInitialize(from: oldSlots, count: end)
    (oldSlots - 1).deinitialize(count: 1)
    (oldSlots - 1).deallocate()
    oldPlaces.deallocate()
    for slot in 0..<end { place(slot) }
  }

  /// Frees a slot, and moves up those that stand behind its place since it was taken.
  private func forget(_ slot: Int) {
    let mask = capacity * 2 - 1
    var hole = home(of: slots[slot].key)
    while places[hole] != UInt32(slot + 1) { hole = next(hole) }
    var place = next(hole)
    while places[place] != 0 {
      let home = home(of: slots[Int(places[place]) - 1].key)
      if (place - home) & mask >= (place - hole) & mask {
        places[hole] = places[place]
        hole = place
      }
      place = next(place)
    }
    places[hole] = 0
    freeSlots.append(slot)
    count -= 1
  }
}
