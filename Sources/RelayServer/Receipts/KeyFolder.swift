import Cryptography
import EventLoop
import Glibc
import RelayCore

/// Why keys of receipts cannot be used or changed: the file, and what to do about it.
package struct KeyFolderError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The path of the file, or of the folder.
  package let path: String
  /// The fault and its remedy, as a sentence without its subject.
  package let reason: String

  /// The path and the reason.
  package var description: String { "\(path): \(reason)" }

  init(_ path: String, _ reason: String) {
    self.path = path
    self.reason = reason
  }

  /// A system call that failed just now.
  init(_ path: String, failed what: String, _ remedy: String = "") {
    let error = SystemError(code: errno, operation: "")
    self.init(path, "cannot be \(what): \(error.reason)\(remedy.isEmpty ? "" : "; \(remedy)")")
  }
}

/// A folder that holds a ring of keys.
///
/// It has `ring.json` with the public parts of all, and the private key of the present one alone.
/// Several processes may use it at once: each holds the folder's lock while it reads or writes.
package struct KeyFolder: Sendable {
  /// The folder's path.
  package let path: String

  /// Names a folder; nothing is looked at yet.
  package init(_ path: String) { self.path = path }

  /// The largest file of a ring, in bytes: two thousand keys.
  static let ringBytesMax = 1 << 20

  // MARK: - Reading

  /// The ring in it, without its private key; nil if none was made yet.
  package func ring() throws(KeyFolderError) -> KeyRing? {
    guard let lock = try lock() else { return nil }
    defer { withExtendedLifetime(lock) {} }
    return try readRing()
  }

  /// The keys to sign with; nil if no ring was made yet.
  ///
  /// Nothing is changed.
  func keys() throws(KeyFolderError) -> ReceiptKeys? {
    guard let lock = try lock() else { return nil }
    defer { withExtendedLifetime(lock) {} }
    return try readKeys()
  }

  private func readKeys() throws(KeyFolderError) -> ReceiptKeys? {
    guard let ring = try readRing() else { return nil }
    let file = place(of: Self.name(of: ring.present))
    guard access(file, F_OK) == 0 || errno != ENOENT else {
      throw KeyFolderError(
        file,
        "is missing: it is the private key of the present key of \(Self.ringName). Put it back; if"
          + " it is lost, move the folder away, and the relay begins a new ring, which devices have"
          + " to be told of")
    }
    try check(file, mode: 0o600, ofRoot: 0o640)
    let key: SigningKey
    do throws(TLSLoadError) { key = try SigningKey(reading: file) } catch {
      throw KeyFolderError(error.path, error.reason)
    }
    guard key.ed25519 == ring.present.key else {
      throw KeyFolderError(
        file,
        "holds another key than \(Self.ringName) says; put the files back that belong"
          + " together")
    }
    var keys = ReceiptKeys(ring, key)
    keys.strangeness = try strangeSince(ring).map { ReceiptKeys.Strangeness(since: $0) }
    return keys
  }

  /// The ring; nil if the folder is empty, or its first ring was cut off while it was made.
  func readRing() throws(KeyFolderError) -> KeyRing? {
    try check(path, mode: 0o700, ofRoot: 0o755)
    let file = place(of: Self.ringName)
    guard let bytes = try read(file) else {
      let names = try self.names()
      guard names.contains(Self.draft(of: Self.ringName)) || names.isEmpty else {
        let some = names.sorted().prefix(3).joined(separator: ", ")
        throw KeyFolderError(
          file,
          "is missing, and the folder is not empty (\(some)). Put the file back; or, for a new"
            + " ring, name a folder that is empty or not there yet")
      }
      return nil
    }
    try check(file, mode: 0o644, ofRoot: 0o644)
    do throws(KeyRing.Damage) { return try KeyRing(parsing: bytes) } catch {
      throw KeyFolderError(
        file, "is damaged: it \(error.reason). Put a whole one back, with its private key")
    }
  }

  /// The names in the folder, without those that a file system or a mount brings.
  private func names() throws(KeyFolderError) -> [String] {
    guard let directory = opendir(path) else { throw KeyFolderError(path, failed: "listed") }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(
          to: CChar.self, capacity: MemoryLayout.size(ofValue: pointer.pointee)
        ) { String(cString: $0) }
      }
      if !name.hasPrefix("."), name != "lost+found" { names.append(name) }
    }
    return names
  }

  // MARK: - Changing

  /// The keys to sign with, and whether they were made just now: in a folder that is empty or not
  /// there yet, a ring is begun.
  ///
  /// - Parameter isNewStrange: Whether devices know other keys than those that would be made now.
  func takeUp(
    at now: WallTime, isNewStrange: Bool = false
  ) throws(KeyFolderError) -> (keys: ReceiptKeys, isNew: Bool) {
    try make()
    guard let lock = try lock() else { throw KeyFolderError(path, failed: "opened") }
    defer { withExtendedLifetime(lock) {} }
    if let keys = try readKeys() {
      // They harm nobody in a folder that may only be read.
      for step in Self.leftovers(try names(), beside: keys.ring) { try? perform(step) }
      return (keys, false)
    }
    for step in Self.leftovers(try names(), beside: nil)
    where step != .remove(Self.draft(of: Self.ringName)) {
      try perform(step)
    }
    let key = SigningKey.makeEd25519()
    let (ring, steps) = Self.beginning(with: key, at: now, isStrange: isNewStrange)
    for step in steps { try perform(step) }
    var keys = ReceiptKeys(ring, key)
    if isNewStrange { keys.strangeness = ReceiptKeys.Strangeness(since: now) }
    return (keys, true)
  }

  /// Makes a new key, has the present one sign it, and puts it in that one's place.
  ///
  /// - Throws: ``KeyFolderError``; the folder then holds the old ring or the new one.
  package func rotate(at now: WallTime) throws(KeyFolderError) -> KeyRing {
    guard let lock = try lock() else { throw KeyFolderError(path, Self.absence) }
    defer { withExtendedLifetime(lock) {} }
    guard let keys = try readKeys() else { throw KeyFolderError(path, Self.absence) }
    for step in Self.leftovers(try names(), beside: keys.ring) { try perform(step) }
    let (ring, steps) = keys.rotation(at: now)
    for step in steps { try perform(step) }
    return ring
  }

  static let absence =
    "holds no keys yet: the relay makes the first one when it starts; if it has, name its"
    + " configuration by --config, or its data folder by --data"

  private func make() throws(KeyFolderError) {
    guard mkdir(path, 0o700) == 0 else {
      guard errno != EEXIST else { return }
      throw KeyFolderError(
        path, failed: "made", "make it for the relay's user, with the mode 700")
    }
    let parent = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    let place = parent.isEmpty ? "/" : parent
    // A folder that may not be read cannot be synced by itself.
    if access(place, R_OK) == 0 { try sync(folder: place) }
  }

  /// Does a step, durably.
  func perform(_ step: KeyFolderStep) throws(KeyFolderError) {
    switch step {
    case .draft(let name): try write([], to: place(of: Self.draft(of: name)))
    case .write(let name, let bytes):
      let draft = place(of: Self.draft(of: name))
      try write(bytes, to: draft)
      guard rename(draft, place(of: name)) == 0 else {
        throw KeyFolderError(place(of: name), failed: "put in its place")
      }
    case .remove(let name):
      guard unlink(place(of: name)) == 0 || errno == ENOENT else {
        throw KeyFolderError(place(of: name), failed: "deleted")
      }
    }
    try sync(folder: path)
  }

  private func write(_ bytes: [UInt8], to path: String) throws(KeyFolderError) {
    // A draft that is there stays there: that of a first ring says how far the making has come.
    let number = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard number >= 0 else {
      throw KeyFolderError(path, failed: "made", "let the relay's user write to its folder")
    }
    let file = FileDescriptor(adopting: number)
    try giveToOwner(file, path)
    var done = 0
    while done < bytes.count {
      let count = bytes[done...].withUnsafeBytes {
        Glibc.write(file.number, $0.baseAddress, $0.count)
      }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw KeyFolderError(path, failed: "written") }
      done += count
    }
    guard fsync(file.number) == 0 else { throw KeyFolderError(path, failed: "synced") }
  }

  /// A file that root writes belongs to the folder's owner: the relay has to read it.
  private func giveToOwner(
    _ file: borrowing FileDescriptor, _ path: String
  ) throws(KeyFolderError) {
    var status = stat()
    guard geteuid() == 0, stat(self.path, &status) == 0, status.st_uid != 0 else { return }
    guard fchown(file.number, status.st_uid, status.st_gid) == 0 else {
      throw KeyFolderError(path, failed: "given to the folder's owner")
    }
  }

  private func sync(folder: String) throws(KeyFolderError) {
    let number = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard number >= 0 else { throw KeyFolderError(folder, failed: "opened") }
    let file = FileDescriptor(adopting: number)
    guard fsync(file.number) == 0 else { throw KeyFolderError(folder, failed: "synced") }
  }

  // MARK: - Files

  func place(of name: String) -> String { "\(path)/\(name)" }

  /// Holds the folder's lock, which belongs to the open folder (flock(2)); nil without a folder.
  func lock() throws(KeyFolderError) -> Lock? {
    let number = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard number >= 0 else {
      if errno == ENOENT { return nil }
      throw KeyFolderError(path, failed: "opened", "let it be a folder of the relay's user")
    }
    let lock = Lock(FileDescriptor(adopting: number))
    // Others hold it for some writes at the most.
    while flock(number, LOCK_EX) != 0 {
      guard errno == EINTR else { throw KeyFolderError(path, failed: "locked") }
    }
    return lock
  }

  final class Lock {
    private let file: FileDescriptor
    fileprivate init(_ file: consuming FileDescriptor) { self.file = file }
    // Closing alone would leave it to a child that was forked and has not reached its exec yet.
    deinit { flock(file.number, LOCK_UN) }
  }

  /// Checks that nobody may read or write a file who must not.
  ///
  /// - Parameters:
  ///   - mode: The most that may be allowed.
  ///   - modeOfRoot: The same of what root has brought, as a mount or a Secret of Kubernetes: that
  ///     the relay reads as a member of its group.
  private func check(
    _ path: String, mode: mode_t, ofRoot modeOfRoot: mode_t
  ) throws(KeyFolderError) {
    var status = stat()
    guard stat(path, &status) == 0 else { throw KeyFolderError(path, failed: "looked at") }
    let me = geteuid()
    let isRoots = status.st_uid == 0 && me != 0
    guard me == 0 || isRoots || status.st_uid == me else {
      throw KeyFolderError(
        path, "belongs to another user (number \(status.st_uid)); give it to the relay's user")
    }
    // In a folder with this bit nobody replaces what belongs to root.
    if isRoots, status.st_mode & S_IFMT == S_IFDIR, status.st_mode & mode_t(S_ISVTX) != 0 { return }
    let wanted = isRoots ? modeOfRoot : mode
    // The owner's own rights do not matter.
    guard status.st_mode & 0o077 & ~wanted == 0 else {
      throw KeyFolderError(
        path,
        "has the mode \(String(status.st_mode & 0o777, radix: 8)), by which others may use it; run"
          + " 'chmod \(String(wanted, radix: 8)) \(path)'")
    }
  }

  /// What a file holds; nil if there is none.
  func read(_ path: String) throws(KeyFolderError) -> [UInt8]? {
    let number = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard number >= 0 else {
      if errno == ENOENT { return nil }
      throw KeyFolderError(path, failed: "read", "let the relay's user read it")
    }
    let file = FileDescriptor(adopting: number)
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 65536)
    while true {
      let count = Glibc.read(file.number, &piece, piece.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw KeyFolderError(path, failed: "read") }
      if count == 0 { return bytes }
      bytes += piece[..<count]
      guard bytes.count <= Self.ringBytesMax else {
        throw KeyFolderError(path, "has more than \(Self.ringBytesMax) bytes; put a whole one back")
      }
    }
  }
}
