/// A bounded cache of recently used values: two generations, of which the older is dropped whole.
///
/// A value that was used since the last change of generations survives the next one. That costs
/// another dictionary look-up now and then, and no ordered list.
///
/// Public, though for this package alone: only public types are specialised for the elements that
/// other targets put into them (docs/decisions/0007).
public struct GenerationCache<Key: Hashable, Value> {
  private var young: [Key: Value] = [:]
  private var old: [Key: Value] = [:]
  private let generationCountMax: Int

  /// Makes a cache of at most `countMax` values.
  public init(countMax: Int) { generationCountMax = max(1, countMax / 2) }

  /// The cached value of a key.
  public mutating func value(for key: Key) -> Value? {
    if let value = young[key] { return value }
    guard let value = old[key] else { return nil }
    insert(value, for: key)
    return value
  }

  /// Caches a value.
  public mutating func insert(_ value: Value, for key: Key) {
    if young.count >= generationCountMax {
      old = young
      young = [:]
    }
    young[key] = value
  }

  /// Removes the value of a key.
  public mutating func removeValue(for key: Key) {
    young[key] = nil
    old[key] = nil
  }

  /// Removes everything.
  public mutating func removeAll() {
    young = [:]
    old = [:]
  }
}
