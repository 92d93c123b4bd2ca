extension JSONValidator {
  /// The most names that are compared with each other; more are sorted by hash first.
  private static let pairwiseNamesMax = 16

  /// Refuses an object with a name that occurs twice, however it is escaped, and forgets its names.
  mutating func refuseDuplicates(since first: Int) throws(JSONError) {
    defer { names.removeSubrange(first...) }
    let count = names.count - first
    guard count > 1 else { return }
    if count <= Self.pairwiseNamesMax {
      try refuseDuplicatesPairwise(since: first)
    } else {
      try refuseDuplicatesByHash(since: first)
    }
  }

  private func refuseDuplicatesPairwise(since first: Int) throws(JSONError) {
    for later in (first + 1)..<names.count {
      for earlier in first..<later where isSame(names[earlier], names[later]) {
        throw duplicate(names[later])
      }
    }
  }

  /// Hashes are seeded per process (`Hasher`), so a sender cannot choose names that collide.
  private func refuseDuplicatesByHash(since first: Int) throws(JSONError) {
    var hashes = (first..<names.count).map { (hash: hash(names[$0]), index: $0) }
    hashes.sort { ($0.hash, $0.index) < ($1.hash, $1.index) }
    for (earlier, later) in zip(hashes, hashes.dropFirst())
    where earlier.hash == later.hash && isSame(names[earlier.index], names[later.index]) {
      throw duplicate(names[later.index])
    }
  }

  private func duplicate(_ name: Name) -> JSONError {
    error(.duplicateName, "the object has this name twice", at: Int(name.start) - 1)
  }

  private func isSame(_ left: Name, _ right: Name) -> Bool {
    if left.escaped || right.escaped { return decoded(left) == decoded(right) }
    let (left, right) = (raw(left), raw(right))
    return left.count == right.count && left.elementsEqual(right)
  }

  private func hash(_ name: Name) -> Int {
    var hasher = Hasher()
    if name.escaped {
      decoded(name).withUnsafeBytes { hasher.combine(bytes: $0) }
    } else {
      hasher.combine(bytes: UnsafeRawBufferPointer(rebasing: raw(name)))
    }
    return hasher.finalize()
  }

  private func raw(_ name: Name) -> Slice<UnsafeRawBufferPointer> {
    bytes[Int(name.start)..<Int(name.end)]
  }

  private func decoded(_ name: Name) -> [UInt8] {
    JSONText.decode(bytes, from: Int(name.start), to: Int(name.end))
  }
}
