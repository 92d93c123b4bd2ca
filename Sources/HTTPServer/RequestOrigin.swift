import Cryptography
import EventLoop

/// Where a request came from: which listener, which peer, and who that has proven to be.
package struct RequestOrigin: Sendable, Equatable {
  /// The number of the listener, as it was given when the server was bound to it.
  package let listener: Int
  /// The other end of the connection.
  package let peer: PeerAddress
  /// This end's address on this connection; nil for a Unix socket, or where nobody asked.
  package let local: SocketAddress.Host?
  /// The client's verified certificate; nil where it showed none, or was not asked for one.
  package let certificate: PeerCertificate?

  /// An origin made of its parts.
  package init(
    listener: Int, peer: PeerAddress, local: SocketAddress.Host? = nil,
    certificate: PeerCertificate? = nil
  ) {
    self.listener = listener
    self.peer = peer
    self.local = local
    self.certificate = certificate
  }

  /// The first listener, from this machine: for tests.
  package static let loopback = RequestOrigin(listener: 0, peer: .tcp(.loopback(port: 1)))
}
