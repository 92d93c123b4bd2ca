import RelayCore
import Synchronization

/// The files of bodies whose items a failing disk has not taken for sure.
///
/// What a transaction has written may be found by the next start though its end has failed, until
/// another transaction has written in its place
/// ([SQLite's log](https://www.sqlite.org/fileformat2.html#the_write_ahead_log)). So a file stays
/// until then.
final class DoubtfulBodies: Sendable {
  /// The most files that are kept so; a disk that keeps failing must not be filled with them.
  static let countMax = 8

  private let names = Mutex<[String]>([])

  /// Keeps some files.
  ///
  /// - Returns: Whether somebody has to end the doubt, and the files that are too many.
  func keep(_ more: [String]) -> (isFirst: Bool, tooMany: [String]) {
    names.withLock { names in
      let isFirst = names.isEmpty && !more.isEmpty
      names += more
      let tooMany = Array(names.dropLast(Self.countMax))
      names.removeFirst(tooMany.count)
      return (isFirst, tooMany)
    }
  }

  /// Ends the doubt by transactions that write, as soon as the disk takes one.
  func end(by driver: Driver) async {
    while let last = names.withLock({ $0.last }) {
      await driver.persist { [self] core, _ throws(StoreError) in
        try core.writeAnything()
        for name in names.withLock({ $0 }) { core.want(.removeFile(name)) }
      }
      // One that has come meanwhile may be of a later transaction that failed.
      names.withLock { names in
        if let place = names.firstIndex(of: last) { names.removeFirst(place + 1) }
      }
    }
  }
}
