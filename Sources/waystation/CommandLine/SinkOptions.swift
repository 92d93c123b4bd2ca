import EventLoop

/// The options of `waystation sink`.
struct SinkOptions: Equatable {
  /// The address to listen on.
  var listen = SocketAddress.loopback(port: 9090)
  /// The status of every response.
  var status = 200
  /// The delay before each response.
  var delayMs: Int64 = 0
  /// The time for which to refuse connections first.
  var downForMs: Int64 = 0
  /// The file to which all requests are written; nil for none.
  var record: String?
  /// Whether to print no requests.
  var isQuiet = false
}
