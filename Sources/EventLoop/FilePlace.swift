import CLinux

/// The device and the inode of a file, which no other file has as long as it is open (inode(7)).
package struct FilePlace: Equatable, Sendable {
  private let device: UInt64
  private let inode: UInt64

  /// Looks at what stands at `path`, and follows symbolic links.
  ///
  /// It asks for no time stamp. Linux since 6.13 gives a file whose times were asked for a time of
  /// its own at the next write, which dirties the inode, which the next `fdatasync` then writes:
  /// <https://docs.kernel.org/filesystems/multigrain-ts.html>. So stat(2) of a log before each
  /// commit makes a post over one connection take a sixth longer.
  ///
  /// - Throws: `SystemError`, with `ENOENT` where nothing is.
  package init(path: String) throws(SystemError) {
    var place = waystation_file_place()
    _ = try systemCall("look at", on: path) { waystation_look_at(path, &place) }
    (device, inode) = (place.device, place.inode)
  }
}
