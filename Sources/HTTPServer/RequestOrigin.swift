import Cryptography
import EventLoop

/// The origin of a request: the listener, the peer, and its verified certificate.
package struct RequestOrigin: Sendable, Hashable {
  /// The listener's number, as given to
  /// ``HTTPServer/bind(_:number:mode:inherited:tls:room:)``.
  package let listener: Int
  /// The other end of the connection.
  package let peer: PeerAddress
  /// This end's address on this connection; nil for a Unix socket, or if it was not looked up.
  package let local: SocketAddress.Host?
  /// The client's verified certificate; nil if it sent none, or was not asked for one.
  package let certificate: PeerCertificate?

  /// Puts the parts together.
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
