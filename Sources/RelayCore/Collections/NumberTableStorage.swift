/// The memory in which a ``NumberTable`` keeps its keys and values.
///
/// Values lie in slots, in the order in which they came, until some leave. A table of places maps a
/// key's hash to its slot; a collision goes to the next free place. Keys are given out in sequence,
/// but which of them stay is up to senders. So the hash is seeded with a secret of the process, and
/// is as cheap as a hash can be that scatters well.
// Sound: only the table that holds it reaches it. That table changes it only while no other table
// shares it, and copies it first otherwise.
final class NumberTableStorage<Key: SequentialNumber, Value: Sendable>: @unchecked Sendable {
  private struct Slot {
    var value: Value?
    var key: Key
  }

  /// The number of keys.
  private(set) var count = 0
  /// The number of slots that were ever used, from the first on; the free ones among them are in
  /// ``freeSlots``.
  private(set) var end = 0
  /// The number of times that the values have moved into other slots.
  private(set) var moveCount = 0
  private var freeSlots: [Int] = []
  // Sound: has room for `capacity` slots, and for one before them, which holds no value and stands
  // for keys that are not there. That and the first `end` slots are initialized.
  private var slots: UnsafeMutablePointer<Slot>
  private var capacity: Int
  /// The number of a slot plus one, or 0, by hash.
  // Sound: has room for, and is initialized for, twice `capacity`, a power of two.
  private var places: UnsafeMutablePointer<UInt32>
  /// The number of bits by which a product is shifted right, so that its upper bits are the hash.
  private var shift: UInt64

  /// The part of a hash that is not the key: another one in each process.
  private let seed: UInt64

  private static var capacityMin: Int { 4 }
  /// The capacity up to which memory is never given back.
  private static var capacityKept: Int { 1024 }
  /// The slot number of keys that are not in the table.
  static var absent: Int { -1 }

  /// Makes room for a few.
  init() {
    capacity = Self.capacityMin
    seed = HashSeed.ofProcess
    (slots, places, shift) = Self.makeRoom(capacity)
  }

  /// Copies all of another table's storage.
  init(copying other: NumberTableStorage) {
    capacity = other.capacity
    seed = other.seed
    count = other.count
    end = other.end
    moveCount = other.moveCount
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

  /// The address of a slot's value; valid until something is added.
  @inline(__always)
  func value(at slot: Int) -> UnsafeMutablePointer<Value?> {
    // Sound: the value stands first in its slot, and so at its address.
    UnsafeMutableRawPointer(slots + slot).assumingMemoryBound(to: Value?.self)
  }

  /// The key of a slot that holds a value.
  func key(at slot: Int) -> Key { slots[slot].key }

  @inline(__always)
  private func home(of key: Key) -> Int {
    // As SplitMix64 mixes its state.
    var bits = key.bits ^ seed
    bits = (bits ^ bits &>> 30) &* 0xBF58_476D_1CE4_E5B9
    bits = (bits ^ bits &>> 27) &* 0x94D0_49BB_1331_11EB
    return Int(truncatingIfNeeded: bits &>> shift)
  }

  @inline(__always)
  private func next(_ place: Int) -> Int { (place + 1) & (capacity * 2 - 1) }

  // MARK: - Changing

  /// Adds or removes a key after its slot's value may have been set or taken.
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
    if count == capacity { move(toCapacity: capacity * 2) }
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

  /// Moves all values into memory for `newCapacity` slots, and leaves out the free ones.
  private func move(toCapacity newCapacity: Int) {
    let (oldSlots, oldPlaces, oldEnd) = (slots, places, end)
    capacity = newCapacity
    (slots, places, shift) = Self.makeRoom(capacity)
    freeSlots = []
    moveCount += 1
    end = 0
    for slot in 0..<oldEnd where oldSlots[slot].value != nil {
      (slots + end).moveInitialize(from: oldSlots + slot, count: 1)
      // A value that was moved out must not be deinitialized; what is deinitialized below has to be
      // something.
      (oldSlots + slot).initialize(to: Slot(value: nil, key: Key.unassigned))
      place(end)
      end += 1
    }
    (oldSlots - 1).deinitialize(count: oldEnd + 1)
    (oldSlots - 1).deallocate()
    oldPlaces.deallocate()
  }

  /// Frees a slot, and moves the places that collided with its place up.
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
    // A table that was large once must not stay large, nor take long to walk.
    if capacity > Self.capacityKept, count < capacity / 4 { move(toCapacity: capacity / 2) }
  }
}

/// The seed that makes hashes a secret of the process.
private enum HashSeed {
  /// Taken from the standard library's seed, which is random unless a test makes it deterministic.
  static let ofProcess: UInt64 = {
    var hasher = Hasher()
    hasher.combine(0)
    return UInt64(bitPattern: Int64(hasher.finalize()))
  }()
}
