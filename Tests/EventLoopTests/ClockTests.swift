import EventLoop
import Foundation
import RelayCore
import Testing

@Suite("Clocks")
struct ClockTests {
  @Test("the time of day is what the machine's clock shows while nobody sets it")
  func follows() {
    let before = WallClock.machine()
    let time = WallClock.now()
    #expect(before <= time && time <= WallClock.machine())
  }

  @Test("a note of the clock is read back within one start of the machine, and never else")
  func note() throws {
    let path = NSTemporaryDirectory() + "waystation-clock-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: path) }
    let file = ClockFile(path: path)
    #expect(file.offsetMs() == nil)
    file.note(offsetMs: -1_234_567_890_123)
    #expect(file.offsetMs() == -1_234_567_890_123)
    file.note(offsetMs: 7)
    #expect(file.offsetMs() == 7)
    for text in ["", "\n", "7", "another-boot 7\n", String(repeating: "x", count: 500)] {
      try text.write(toFile: path, atomically: true, encoding: .utf8)
      #expect(file.offsetMs() == nil)
    }
    ClockFile(path: "/nonexistent/folder/clock").note(offsetMs: 1)
  }
}
