import Testing

/// What is tested through the real binary, one suite after the other: each starts relays of its own.
@Suite("End to end", .serialized, .timeLimit(.minutes(5)))
enum EndToEnd {}
