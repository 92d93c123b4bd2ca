import Testing

/// What is tested through the real binary, one suite after the other.
///
/// Each test starts relays of its own; several at once would only slow one another down.
@Suite("End to end", .serialized, .timeLimit(.minutes(5)))
enum EndToEnd {}
