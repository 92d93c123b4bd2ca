import Foundation
import Glibc

/// A socket that a service manager reads, on a thread of its own.
final class NotifySocket: Sendable {
  /// Where it is.
  let path: String
  private let folder: TemporaryFolder
  private let descriptor: Int32
  private let notes = Monitor<[String]>([])

  init() throws {
    folder = try TemporaryFolder(isForSockets: true)
    path = folder.path + "/notify"
    descriptor = try UnixAddress.bound(path, kind: SOCK_DGRAM)
    let (descriptor, notes) = (descriptor, notes)
    Thread.detachNewThread {
      var bytes = [UInt8](repeating: 0, count: 4096)
      while true {
        let count = recv(descriptor, &bytes, bytes.count, 0)
        if count < 0 && errno == EINTR { continue }
        // Nothing but the end of this value makes an empty one.
        guard count > 0 else { break }
        notes.change { $0.append(String(decoding: bytes[..<count], as: UTF8.self)) }
      }
      close(descriptor)
    }
  }

  deinit { Glibc.shutdown(descriptor, Int32(SHUT_RDWR)) }

  /// Waits for so many notes of a kind, and returns the last of them.
  @discardableResult
  func wait(
    _ what: String, count: Int = 1, where isMeant: @escaping @Sendable (String) -> Bool
  ) async throws -> String {
    try await notes.wait(what) { notes in
      let meant = notes.filter(isMeant)
      return meant.count >= count ? meant.last : nil
    }
  }
}

/// A socket that listens, and that a relay can be handed.
final class ListeningSocket: Sendable {
  let descriptor: Int32
  /// Where it is; 0 for a Unix socket.
  let port: UInt16
  /// Where it is; empty for an address.
  let path: String

  /// Listens on the loopback address.
  init(port: UInt16) throws {
    (descriptor, self.port) = try TestUpstream.listen(port: port)
    path = ""
  }

  /// Listens on a Unix socket.
  init(path: String) throws {
    descriptor = try UnixAddress.bound(path, kind: SOCK_STREAM)
    guard Glibc.listen(descriptor, 64) == 0 else {
      throw SocketError(operation: "listen on \(path)", code: errno)
    }
    port = 0
    self.path = path
  }

  deinit {
    Glibc.close(descriptor)
    if !path.isEmpty { unlink(path) }
  }
}

/// Addresses of Unix sockets.
private enum UnixAddress {
  /// A new socket at a path.
  static func bound(_ path: String, kind: __socket_type) throws -> Int32 {
    let descriptor = Glibc.socket(
      AF_UNIX, Int32(kind.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard result == 0 else { throw SocketError(operation: "bind \(path)", code: errno) }
    return descriptor
  }
}
