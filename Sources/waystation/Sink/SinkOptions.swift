import EventLoop

/// What `waystation sink` was told.
struct SinkOptions: Equatable {
  /// Where to listen.
  var listen = SocketAddress.loopback(port: 9090)
  /// The status of every answer.
  var status = 200
  /// How long to wait before each answer.
  var delayMs: Int64 = 0
  /// How long to refuse connections first.
  var downForMs: Int64 = 0
  /// Whether to print no requests.
  var isQuiet = false
}
