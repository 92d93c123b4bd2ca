import RelayCore

// A ring that took the place of another one has a file beside it, so that no restart makes anybody
// forget to tell devices of it.
extension KeyFolder {
  /// The ring in the folder, and since when devices may not know it; nil if none was made yet.
  package func state() throws(KeyFolderError) -> (ring: KeyRing, strangeSince: WallTime?)? {
    guard let lock = try lock() else { return nil }
    defer { withExtendedLifetime(lock) {} }
    guard let ring = try readRing() else { return nil }
    return (ring, try strangeSince(ring))
  }

  /// Since when devices may not know a ring that is in the folder; nil if they do.
  func strangeSince(_ ring: KeyRing) throws(KeyFolderError) -> WallTime? {
    guard let bytes = try read(place(of: Self.markName)) else { return nil }
    let text = bytes.prefix { $0 != UInt8(ascii: "\n") }
    // That the file is there says enough.
    return RFC3339.parse(text)
      ?? WallTime(millisecondsSinceEpoch: ring.present.sinceSeconds * 1000)
  }

  /// Notes that devices may not know the ring.
  func mark(since time: WallTime) throws(KeyFolderError) {
    guard let lock = try lock() else { throw KeyFolderError(path, Self.absence) }
    defer { withExtendedLifetime(lock) {} }
    try perform(Self.marking(since: time))
  }

  /// Notes that devices know the ring.
  ///
  /// - Returns: The ring, and since when they might not have; nil if there was no doubt.
  package func accept() throws(KeyFolderError) -> (ring: KeyRing, strangeSince: WallTime?) {
    guard let lock = try lock() else { throw KeyFolderError(path, Self.absence) }
    defer { withExtendedLifetime(lock) {} }
    guard let ring = try readRing() else { throw KeyFolderError(path, Self.absence) }
    let since = try strangeSince(ring)
    if since != nil { try perform(.remove(Self.markName)) }
    return (ring, since)
  }
}
