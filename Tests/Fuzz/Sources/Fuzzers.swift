/// All fuzzers, by the names that scripts/fuzz and the folders of `Tests/Fuzz/Corpus` have.
let fuzzers: [(name: String, fuzz: @Sendable ([UInt8]) -> Void)] = [
  ("parser", ParserFuzzer.run),
  ("connection", ConnectionFuzzer.run),
  ("chunks", ChunkFuzzer.run),
  ("gzip", GzipFuzzer.run),
  ("json", JSONFuzzer.run),
  ("envelope", EnvelopeFuzzer.run),
  ("relayed", RelayedFuzzer.run),
  ("terms", TermsFuzzer.run),
  ("configuration", ConfigurationFuzzer.run),
]
