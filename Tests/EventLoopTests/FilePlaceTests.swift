import Foundation
import Glibc
import Testing

@testable import EventLoop

/// How a file is told from another one that took its name.
@Suite("File place")
struct FilePlaceTests {
  private let folder = FileManager.default.temporaryDirectory.path + "/place-\(UUID().uuidString)"

  private func withFile(_ body: (_ path: String) throws -> Void) throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try Data([1]).write(to: URL(fileURLWithPath: folder + "/file"))
    try body(folder + "/file")
  }

  @Test("a file keeps its place under another name, and however it is written")
  func same() throws {
    try withFile { path in
      let place = try FilePlace(path: path)
      try #require(symlink(path, path + ".link") == 0)
      #expect(try FilePlace(path: path + ".link") == place)
      let handle = try #require(FileHandle(forWritingAtPath: path))
      try handle.write(contentsOf: Data([2, 3]))
      try handle.close()
      try #require(rename(path, path + ".moved") == 0)
      #expect(try FilePlace(path: path + ".moved") == place)
    }
  }

  @Test("a file that took the name of an open one has another place")
  func replaced() throws {
    try withFile { path in
      let place = try FilePlace(path: path)
      let handle = try #require(FileHandle(forReadingAtPath: path))
      defer { try? handle.close() }
      try Data([1]).write(to: URL(fileURLWithPath: path + ".new"))
      try #require(rename(path + ".new", path) == 0)
      #expect(try FilePlace(path: path) != place)
    }
  }

  @Test("where nothing is, the error names the path")
  func missing() throws {
    try withFile { path in
      let error = #expect(throws: SystemError.self) { try FilePlace(path: path + ".none") }
      #expect(error?.code == ENOENT && error?.subject == path + ".none")
    }
  }

  /// The time that the kernel gives files that nobody asked about: that of its last tick.
  private func tick() -> timespec {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME_COARSE, &time)
    return time
  }

  @Test("a look asks for no times: the next write gets none of its own, and syncs stay quick")
  func asksForNoTimes() throws {
    try withFile { path in
      let handle = try #require(FileHandle(forWritingAtPath: path))
      defer { try? handle.close() }
      // Other files raise the kernel's least time now and then, and ticks pass: one of many rounds
      // will do. Were times asked for, it would be none.
      let isCoarse = try (0..<50).contains { _ in
        var tick = tick()
        let last = tick
        while (tick.tv_sec, tick.tv_nsec) == (last.tv_sec, last.tv_nsec) { tick = self.tick() }
        try handle.write(contentsOf: Data([1]))
        _ = try FilePlace(path: path)
        try handle.write(contentsOf: Data([1]))
        var status = stat()
        try #require(fstat(handle.fileDescriptor, &status) == 0)
        return status.st_mtim.tv_sec == tick.tv_sec && status.st_mtim.tv_nsec == tick.tv_nsec
      }
      #expect(isCoarse)
    }
  }
}
