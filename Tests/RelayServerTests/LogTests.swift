import EventLoop
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

    /// The same, read as JSON.
    func objects() throws -> [[String: Any]] {
      try text().split(separator: "\n").map {
        try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
      }
    }
  }

  private static func log(
    _ level: LogConfiguration.Level, _ format: LogConfiguration.Format, _ descriptor: Int32
  ) -> Log {
    var configuration = LogConfiguration()
    configuration.level = level
    configuration.format = format
    return Log(configuration, descriptor: descriptor)
  }

  @Test("elsewhere than on a terminal it is one JSON object a line")
  func json() throws {
    let target = try Target()
    let log = Self.log(.info, .auto, target.descriptor)
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
    Self.log(.info, .auto, terminal).info("listening", ("address", "a:1"))
    var chunk = [UInt8](repeating: 0, count: 4096)
    let count = read(main, &chunk, chunk.count)
    let line = String(decoding: chunk[..<max(0, count)], as: UTF8.self)
    #expect(line.hasSuffix("Z info listening  address: a:1\r\n"), "\(line)")
  }

  @Test("nothing that is logged begins another line or moves a terminal's cursor")
  func control() throws {
    let target = try Target()
    let log = Self.log(.info, .text, target.descriptor)
    log.info("event", ("name", .text("a\nb\u{1B}[2Jc\u{7F}d\u{9B}e\tö")))
    let text = target.text()
    #expect(text.hasSuffix("info event  name: a?b?[2Jc?d?e?ö\n"), "\(text)")
  }

  @Test("less than its level is left out")
  func levels() throws {
    let target = try Target()
    let log = Self.log(.warning, .text, target.descriptor)
    log.debug("one")
    log.info("two")
    log.warning("three")
    log.error("four")
    #expect(target.text().split(separator: "\n").map { $0.suffix(5) } == ["three", " four"])
    #expect(log.isOn(.error) && !log.isOn(.info))
  }

  @Test("past so many lines of one second the rest is left out, and its number is told")
  func storm() throws {
    let target = try Target()
    let log = Self.log(.info, .json, target.descriptor)
    let linesMax = LineBudget.Kind.course.linesPerSecondMax
    // Three seconds' worth in one go: at least one of them is cut short, however slow the machine.
    for _ in 0..<(linesMax * 3) { log.info("storm") }
    log.warning("trouble")
    log.tellRest()
    let lines = try target.objects()
    let stormCount = lines.count { $0["event"] as? String == "storm" }
    #expect(stormCount >= linesMax && stormCount < linesMax * 3)
    #expect(lines.contains { $0["event"] as? String == "trouble" })
    let leftOut = lines.filter { $0["event"] as? String == "log lines were left out" }
    #expect(leftOut.compactMap { $0["count"] as? Int }.reduce(stormCount, +) == linesMax * 3)
    #expect(leftOut.allSatisfy { $0["of"] as? String == "debug and info" })
  }

  @Test("what repeats is written once, and then by its number, with the latest of it")
  func repeats() throws {
    let target = try Target()
    let log = Self.log(.info, .json, target.descriptor)
    for number in 1...5 {
      log.repeating(
        .warning, "upstream is unreachable", about: "a", .usual,
        ("number", .integer(Int64(number))))
    }
    log.repeating(.warning, "upstream is unreachable", about: "b", .usual, ("number", 9))
    log.repeating(.debug, "less than its level", about: "a")
    #expect(try target.objects().map { $0["number"] as? Int } == [1, 9])
    log.tellRest()
    let last = try #require(try target.objects().last)
    #expect(last["number"] as? Int == 5 && last["repeated"] as? Int == 4)
    #expect(last["inSeconds"] is Int && (last["latestAt"] as? String)?.hasSuffix("Z") == true)
    #expect(try target.objects().count == 3)
  }

  @Test("a loop tells what was held back though nothing else is logged", .timeLimit(.minutes(5)))
  func heldBack() throws {
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    defer { for end in ends { close(end) } }
    let loop = try EventLoop(name: "log")
    defer { loop.stop() }
    let log = Self.log(.info, .text, ends[1])
    log.tellHeld(by: loop)
    let pace = RepeatPace(firstMs: 300, longestMs: 300)
    for _ in 0..<4 { log.repeating(.warning, "trouble", about: "x", pace) }
    var text = ""
    var bytes = [UInt8](repeating: 0, count: 4096)
    // Each read waits until there is something. On a busy machine the four may not all be repeats
    // of the first; all of them are told in any case.
    while Self.toldCount(text) < 4 {
      let count = read(ends[0], &bytes, bytes.count)
      try #require(count > 0)
      text += String(decoding: bytes[..<count], as: UTF8.self)
    }
    #expect(Self.toldCount(text) == 4 && text.contains("repeated: "), "\(text)")
  }

  /// How often something happened, by whole lines of text: one that stands for repeats by their
  /// number, any other once.
  private static func toldCount(_ text: String) -> Int {
    text.split(separator: "\n").reduce(0) { sum, line in
      guard let field = line.split(separator: "repeated: ").dropFirst().first else {
        return sum + 1
      }
      return sum + (Int(field.prefix { $0.isNumber }) ?? 0)
    }
  }

  @Test("nobody waits for a reader that has stopped reading", .timeLimit(.minutes(5)))
  func stalledReader() throws {
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    defer { for end in ends { close(end) } }
    let log = Self.log(.info, .json, ends[1])
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
