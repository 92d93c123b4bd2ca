/// A bounded memory of what was used lately: two generations, the older of which is dropped whole.
///
/// Whatever was asked for since the last change of generations survives the next one, at the cost
/// of one more dictionary look-up now and then, and of no list to be kept in order.
struct GenerationCache<Key: Hashable, Value> {
  private var young: [Key: Value] = [:]
  private var old: [Key: Value] = [:]
  private let generationCountMax: Int

  /// Remembers at most `countMax` values.
  init(countMax: Int) { generationCountMax = max(1, countMax / 2) }

  /// The value that is remembered under a key.
  mutating func value(for key: Key) -> Value? {
    if let value = young[key] { return value }
    guard let value = old[key] else { return nil }
    insert(value, for: key)
    return value
  }

  /// Remembers a value.
  mutating func insert(_ value: Value, for key: Key) {
    if young.count >= generationCountMax {
      old = young
      young = [:]
    }
    young[key] = value
  }

  /// Forgets the value under a key.
  mutating func removeValue(for key: Key) {
    young[key] = nil
    old[key] = nil
  }

  /// Forgets everything.
  mutating func removeAll() {
    young = [:]
    old = [:]
  }
}
