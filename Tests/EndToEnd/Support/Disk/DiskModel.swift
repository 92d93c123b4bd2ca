import Foundation

/// What a disk may hold after a power cut, by what POSIX promises and no more.
///
/// A file's bytes and its size are certain once it has been synced; a name, or its removal, once
/// the folder that it stands in has been synced. Of everything since then any part may be there: a
/// write whole, not at all, or in part (any of its sectors, up to any byte), whatever came after.
/// Bytes outside of what a write covers are left alone, which SQLite calls powersafe overwrite.
struct DiskModel {
  /// What became of all that was not synced.
  enum Fate: CaseIterable {
    /// Nothing of it is there.
    case lost
    /// All of it is there: what a killed process leaves.
    case kept
    /// Any part of it, drawn for each write, truncation and name.
    case torn
    /// All of the bytes and none of the names.
    case namesLost
  }

  private enum Change {
    case write(Int, ArraySlice<UInt8>)
    case truncate(Int)
  }

  private final class Node {
    var synced: [UInt8] = []
    var changes: [Change] = []
  }

  private enum Entry {
    case file(Node)
    case folder
  }

  private struct NameChange {
    let folder: String
    let names: [(path: String, entry: Entry?)]
  }

  private enum Opened {
    case file(Node)
    case folder(String)
  }

  private let root: String
  private var opened: [Int32: Opened] = [:]
  private var names: [String: Entry] = [:]
  private var syncedNames: [String: Entry] = [:]
  private var nameChanges: [NameChange] = []

  /// An empty folder, which is on disk itself.
  init(root: String) { self.root = root }

  // MARK: - What happens

  /// Takes note of the next event.
  mutating func apply(_ event: DiskEvent) {
    switch event.kind {
    case .start: opened = [:]
    case .open: open(event)
    case .close: opened[event.descriptor] = nil
    case .write:
      if case .file(let node) = opened[event.descriptor] {
        node.changes.append(.write(Int(event.number), event.data))
      }
    case .truncate:
      if case .file(let node) = opened[event.descriptor] {
        node.changes.append(.truncate(Int(event.number)))
      }
    case .sync: sync(event)
    case .mkdir: change([(event.path, .folder)])
    case .unlink, .rmdir: if !Self.isForgotten(event.path) { change([(event.path, nil)]) }
    case .rename: change([(event.path, nil), (event.text, names[event.path])])
    case .send: break
    }
  }

  /// SQLite's shared memory is made anew by whoever opens the database first: its contents do not
  /// count.
  private static func isForgotten(_ path: String) -> Bool { path.hasSuffix("-shm") }

  private mutating func open(_ event: DiskEvent) {
    opened[event.descriptor] = nil
    if Self.isForgotten(event.path) { return }
    switch names[event.path] {
    case .folder: opened[event.descriptor] = .folder(event.path)
    case .file(let node):
      if event.wasEmptied { node.changes.append(.truncate(0)) }
      opened[event.descriptor] = .file(node)
    case nil where event.path == root: opened[event.descriptor] = .folder(root)
    case nil where event.mayHaveMade:
      let node = Node()
      change([(event.path, .file(node))])
      opened[event.descriptor] = .file(node)
    case nil: break
    }
  }

  private mutating func change(_ changed: [(path: String, entry: Entry?)]) {
    for name in changed { names[name.path] = name.entry }
    nameChanges.append(NameChange(folder: Self.folder(of: changed[0].path), names: changed))
  }

  private mutating func sync(_ event: DiskEvent) {
    switch opened[event.descriptor] {
    case .file(let node):
      for change in node.changes { Self.apply(change, to: &node.synced) }
      node.changes = []
    case .folder(let path):
      for change in nameChanges where change.folder == path { apply(change, to: &syncedNames) }
      nameChanges.removeAll { $0.folder == path }
    case nil: break
    }
  }

  private func apply(_ change: NameChange, to names: inout [String: Entry]) {
    for name in change.names { names[name.path] = name.entry }
  }

  private static func apply(_ change: Change, to bytes: inout [UInt8]) {
    switch change {
    case .truncate(let size): resize(&bytes, to: size)
    case .write(let offset, let data):
      if bytes.count < offset + data.count { resize(&bytes, to: offset + data.count) }
      bytes.withUnsafeMutableBytes { target in
        data.withUnsafeBytes { target.baseAddress?.advanced(by: offset).copy($0) }
      }
    }
  }

  private static func resize(_ bytes: inout [UInt8], to size: Int) {
    if bytes.count > size {
      bytes.removeLast(bytes.count - size)
    } else {
      bytes += [UInt8](repeating: 0, count: size - bytes.count)
    }
  }

  private static func folder(of path: String) -> String {
    (path as NSString).deletingLastPathComponent
  }

  // MARK: - What a power cut leaves

  /// Writes what may be there into an empty folder.
  func write(_ fate: Fate, to folder: String, generator: inout SeededGenerator) throws {
    var names = syncedNames
    for change in nameChanges {
      let isKept =
        switch fate {
        case .lost, .namesLost: false
        case .kept: true
        case .torn: generator.happens(0.5)
        }
      if isKept { apply(change, to: &names) }
    }
    for path in names.keys.sorted() {
      // What stands in a folder that is not there is not there either.
      let parent = Self.folder(of: path)
      guard parent == root || isFolder(names[parent]), let entry = names[path] else { continue }
      let target = folder + path.dropFirst(root.count)
      switch entry {
      case .folder:
        try FileManager.default.createDirectory(
          atPath: target, withIntermediateDirectories: false)
      case .file(let node):
        let bytes = contents(of: node, fate, generator: &generator)
        guard FileManager.default.createFile(atPath: target, contents: Data(bytes)) else {
          throw ProtocolViolation(description: "\(target) could not be made")
        }
      }
    }
  }

  private func isFolder(_ entry: Entry?) -> Bool {
    if case .folder = entry { true } else { false }
  }

  private func contents(
    of node: Node, _ fate: Fate, generator: inout SeededGenerator
  ) -> [UInt8] {
    var bytes = node.synced
    switch fate {
    case .lost: break
    case .kept, .namesLost: for change in node.changes { Self.apply(change, to: &bytes) }
    case .torn:
      for change in node.changes {
        for part in parts(of: change, generator: &generator) { Self.apply(part, to: &bytes) }
      }
    }
    return bytes
  }

  private static let sectorBytes = 512

  /// What of a change came to the disk.
  private func parts(of change: Change, generator: inout SeededGenerator) -> [Change] {
    guard case .write(let offset, let data) = change else {
      return generator.happens(0.5) ? [change] : []
    }
    switch Int.random(in: 0..<4, using: &generator) {
    case 0: return []
    case 1: return [change]
    case 2:
      return [.write(offset, data.prefix(Int.random(in: 0...data.count, using: &generator)))]
    default:
      var parts: [Change] = []
      var start = offset
      while start < offset + data.count {
        let end = min((start / Self.sectorBytes + 1) * Self.sectorBytes, offset + data.count)
        if generator.happens(0.5) {
          let first = data.startIndex + start - offset
          parts.append(.write(start, data[first..<first + end - start]))
        }
        start = end
      }
      return parts
    }
  }
}

extension UnsafeMutableRawPointer {
  fileprivate func copy(_ source: UnsafeRawBufferPointer) {
    if let base = source.baseAddress { copyMemory(from: base, byteCount: source.count) }
  }
}
