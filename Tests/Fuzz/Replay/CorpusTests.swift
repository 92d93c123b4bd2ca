import Foundation
import Testing

/// What the fuzzers have learnt, and changes of it, without a sanitizer and without coverage.
///
/// A fuzzer holds by trapping, so each runs in a process of its own. What ends it is left in a
/// file, and `scripts/fuzz --repeat` runs that again.
@Suite("Fuzzers, over what they have learnt", .serialized)
struct CorpusTests {
  @Test("hold for each input, and for changes of it", arguments: fuzzers.map(\.name))
  func holds(name: String) async {
    await #expect(processExitsWith: .success) { [name] in
      let fuzzer = try #require(fuzzers.first { $0.name == name })
      for input in try Corpus.inputs(of: name) {
        try Corpus.try(fuzzer, input)
        var changes = InputChanges(of: input)
        for _ in 0..<Corpus.changesEach { try Corpus.try(fuzzer, changes.next()) }
      }
      try FileManager.default.removeItem(atPath: Corpus.found(by: name))
    }
  }

  @Test("have a folder of inputs each, and there is no other folder")
  func folders() throws {
    let folders = try FileManager.default.contentsOfDirectory(atPath: Corpus.folder)
    #expect(folders.sorted() == fuzzers.map(\.name).sorted())
  }
}

/// The inputs that are kept in `Tests/Fuzz/Corpus`, and the one that is tried just now.
enum Corpus {
  /// How many changed ones are tried of each input.
  static let changesEach = 200
  private static let root = URL(filePath: #filePath).appending(path: "../../../..").standardized
  static let folder = root.appending(path: "Tests/Fuzz/Corpus").path

  /// A fuzzer's inputs, in the order of their names.
  static func inputs(of fuzzer: String) throws -> [[UInt8]] {
    let folder = "\(folder)/\(fuzzer)"
    return try FileManager.default.contentsOfDirectory(atPath: folder).sorted().map { name in
      [UInt8](try Data(contentsOf: URL(filePath: "\(folder)/\(name)")))
    }
  }

  /// Where the input lies that a fuzzer reads, and stays if it ends the process.
  static func found(by fuzzer: String) throws -> String {
    let folder = root.appending(path: ".build/fuzz-found").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    return "\(folder)/\(fuzzer)-replayed"
  }

  /// Has a fuzzer read an input.
  static func `try`(_ fuzzer: (name: String, fuzz: ([UInt8]) -> Void), _ input: [UInt8]) throws {
    try Data(input).write(to: URL(filePath: found(by: fuzzer.name)))
    fuzzer.fuzz(input)
  }
}

/// Changes of an input, the same ones each time: bits, bytes, and stretches that go, come twice or
/// change places.
struct InputChanges {
  private let original: [UInt8]
  private var random: Input

  init(of original: [UInt8]) {
    self.original = original
    random = Input(Array(original.prefix(2)))
  }

  /// One more changed input.
  mutating func next() -> [UInt8] {
    var bytes = original
    for _ in 0...random.below(4) { change(&bytes) }
    return bytes
  }

  private mutating func change(_ bytes: inout [UInt8]) {
    guard !bytes.isEmpty else { return bytes.append(UInt8(random.below(256))) }
    let place = random.below(bytes.count)
    let stretch = place..<min(bytes.count, place + 1 + random.below(16))
    switch random.below(5) {
    case 0: bytes[place] ^= 1 << UInt8(random.below(8))
    case 1: bytes[place] = UInt8(random.below(256))
    case 2: bytes.removeSubrange(stretch)
    case 3: bytes.insert(contentsOf: bytes[stretch], at: random.below(bytes.count))
    default: bytes.insert(UInt8(random.below(256)), at: place)
    }
  }
}
