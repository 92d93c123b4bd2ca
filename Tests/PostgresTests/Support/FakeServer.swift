#if PostgreSQL
import Foundation

/// What stands in for a server, on loopback.
enum FakeServer {
  /// A socket that listens, and where it does.
  struct Listener {
    var socket: Int32
    var port: Int
  }

  /// A socket that takes connections, and says nothing on them.
  static func listener() throws -> Listener {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = withUnsafeMutableBytes(of: &address) { bytes in
      guard let start = bytes.baseAddress else { return false }
      let place = start.assumingMemoryBound(to: sockaddr.self)
      return bind(listener, place, length) == 0 && listen(listener, 8) == 0
        && getsockname(listener, place, &length) == 0
    }
    guard isListening else { throw CocoaError(.fileReadUnknown) }
    return Listener(socket: listener, port: Int(UInt16(bigEndian: address.sin_port)))
  }

  /// A server that lets one connection in, and says that it is of this version.
  static func ofVersion(_ version: String) throws -> Listener {
    let listener = try listener()
    func message(_ kind: Character, _ content: [UInt8]) -> [UInt8] {
      Array(String(kind).utf8) + [0, 0, 0, UInt8(content.count + 4)] + content
    }
    let greeting =
      message("R", [0, 0, 0, 0]) + message("S", Array("server_version\0\(version)\0".utf8))
      + message("K", [0, 0, 0, 1, 0, 0, 0, 1]) + message("Z", Array("I".utf8))
    Thread.detachNewThread {
      let connection = accept(listener.socket, nil, nil)
      var request = [UInt8](repeating: 0, count: 4096)
      _ = read(connection, &request, request.count)
      _ = write(connection, greeting, greeting.count)
      // Until the other side ends it.
      while read(connection, &request, request.count) > 0 {}
      close(connection)
      close(listener.socket)
    }
    return listener
  }
}
#endif
