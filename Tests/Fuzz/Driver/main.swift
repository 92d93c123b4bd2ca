// Coverage-guided fuzzers for everything that reads what a stranger has sent; see scripts/fuzz.
//
// The first argument names the fuzzer; the others are libFuzzer's own.

import Glibc

/// Which fuzzer was chosen; libFuzzer's callback can carry nothing with it.
// Sound: set once, before libFuzzer begins, which runs on this thread alone.
nonisolated(unsafe) var chosen: ([UInt8]) -> Void = { _ in }

let name = CommandLine.arguments.dropFirst().first
guard let fuzzer = fuzzers.first(where: { $0.name == name }) else {
  // What there is, one a line, for scripts/fuzz.
  for fuzzer in fuzzers { print(fuzzer.name) }
  exit(name == nil ? 0 : 2)
}
chosen = fuzzer.fuzz

/// What libFuzzer calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
func fuzzOne(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  chosen(Array(UnsafeBufferPointer(start: bytes, count: count)))
  return 0
}

/// libFuzzer itself, without the `main` that it brings along.
@_silgen_name("LLVMFuzzerRunDriver")
func runDriver(
  _ count: UnsafeMutablePointer<CInt>,
  _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>,
  _ fuzz: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt

var count = CommandLine.argc - 1
var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv + 1
exit(runDriver(&count, &arguments, fuzzOne))
