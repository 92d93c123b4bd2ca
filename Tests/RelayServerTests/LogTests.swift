import Foundation
import Glibc
import RelayServer
import Testing

@Suite("The log")
struct LogTests {
  /// A file without a name, to log into.
  private struct Target: ~Copyable {
    let descriptor: Int32

    init() throws {
      var path = Array((NSTemporaryDirectory() + "waystation-log-XXXXXX").utf8CString)
      descriptor = mkstemp(&path)
      try #require(descriptor >= 0)
      unlink(path)
    }

    deinit { close(descriptor) }

    /// What has been written so far.
    func text() -> String {
      var bytes = [UInt8](repeating: 0, count: Int(lseek(descriptor, 0, SEEK_END)))
      let count = pread(descriptor, &bytes, bytes.count, 0)
      return String(decoding: bytes[..<max(0, count)], as: UTF8.self)
    }
  }

  @Test("elsewhere than on a terminal it is one JSON object a line")
  func json() throws {
    let target = try Target()
    let log = Log(level: .info, format: .auto, descriptor: target.descriptor)
    log.warning("upstream is unreachable", ("upstream", .text("a\"b\n")), ("count", 3))
    let lines = target.text().split(separator: "\n")
    try #require(lines.count == 1)
    let object = try JSONSerialization.jsonObject(with: Data(lines[0].utf8)) as? [String: Any]
    #expect(object?["level"] as? String == "warning")
    #expect(object?["event"] as? String == "upstream is unreachable")
    #expect(object?["upstream"] as? String == "a\"b\n")
    #expect(object?["count"] as? Int == 3)
    #expect((object?["time"] as? String)?.hasSuffix("Z") == true)
  }

  @Test("on a terminal it is text")
  func terminal() throws {
    let main = open("/dev/ptmx", O_RDWR | O_NOCTTY)
    try #require(main >= 0)
    defer { close(main) }
    // What unlockpt(3) and ptsname(3) do; Swift's Glibc has neither: ioctl_tty(2).
    var locked: Int32 = 0
    var number: Int32 = 0
    try #require(ioctl(main, 0x4004_5431, &locked) == 0)
    try #require(ioctl(main, 0x8004_5430, &number) == 0)
    let terminal = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY)
    try #require(terminal >= 0)
    defer { close(terminal) }
    Log(level: .info, format: .auto, descriptor: terminal).info("listening", ("address", "a:1"))
    var chunk = [UInt8](repeating: 0, count: 4096)
    let count = read(main, &chunk, chunk.count)
    let line = String(decoding: chunk[..<max(0, count)], as: UTF8.self)
    #expect(line.hasSuffix("Z info listening  address: a:1\r\n"), "\(line)")
  }

  @Test("nothing that is logged begins another line or moves a terminal's cursor")
  func control() throws {
    let target = try Target()
    let log = Log(level: .info, format: .text, descriptor: target.descriptor)
    log.info("event", ("name", .text("a\nb\u{1B}[2Jc\u{7F}d\u{9B}e\tö")))
    let text = target.text()
    #expect(text.hasSuffix("info event  name: a?b?[2Jc?d?e?ö\n"), "\(text)")
  }

  @Test("less than its level is left out")
  func levels() throws {
    let target = try Target()
    let log = Log(level: .warning, format: .text, descriptor: target.descriptor)
    log.debug("one")
    log.info("two")
    log.warning("three")
    log.error("four")
    #expect(target.text().split(separator: "\n").map { $0.suffix(5) } == ["three", " four"])
    #expect(log.isOn(.error) && !log.isOn(.info))
  }

  @Test("past so many lines of one second the rest is counted and left out")
  func storm() throws {
    let target = try Target()
    let log = Log(level: .info, format: .text, descriptor: target.descriptor)
    // Three seconds' worth in one go: at least one of them is cut short, however slow the machine.
    for _ in 0..<(Log.linesPerSecondMax * 3) { log.info("storm") }
    let lines = target.text().split(separator: "\n").count
    #expect(lines >= Log.linesPerSecondMax && lines < Log.linesPerSecondMax * 3)
  }

  @Test("nobody waits for a reader that has stopped reading", .timeLimit(.minutes(1)))
  func stalledReader() throws {
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    defer { for end in ends { close(end) } }
    let log = Log(level: .info, format: .json, descriptor: ends[1])
    // Far more than a pipe holds (64 KiB): without a look beforehand this would wait for ever.
    let words = String(repeating: "x", count: 3000)
    for _ in 0..<200 { log.info("a long line", ("words", .text(words))) }
    var bytes = [UInt8](repeating: 0, count: 1 << 17)
    let count = read(ends[0], &bytes, bytes.count)
    #expect(count > 0 && count < 200 * 3000)
    let lines = String(decoding: bytes[..<max(0, count)], as: UTF8.self).split(separator: "\n")
    #expect(lines.allSatisfy { $0.hasPrefix("{") && $0.hasSuffix("}") })
  }
}
