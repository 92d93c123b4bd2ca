import CCurl
import Cryptography

/// The state of a connection right before a request is written on it, and what follows from it.
///
/// In HTTP/1.1 only the order says which response belongs to which request: bytes that came before
/// a request was written would be taken for its response.
package struct ConnectionInspection: Equatable {
  /// The input that nobody has read.
  package enum Arrival: Equatable {
    case nothing
    case bytes
    /// The peer has ended the connection, or it has failed.
    case end
  }

  /// The connection's security.
  package enum Security: Equatable {
    /// Plain text.
    case none
    /// TLS, with or without decrypted bytes that nobody has read.
    case tls(holdsUnreadBytes: Bool)
    /// TLS with HTTP/2, where a response names its request.
    case http2
    /// TLS that cannot be inspected.
    case opaque
  }

  /// Whether it has carried a request before; nil if the connection is not known.
  package var hasCarriedRequest: Bool?
  /// The unread input.
  package var arrival: Arrival
  /// The security.
  package var security: Security
  /// Whether libcurl was told to make a new connection for this request.
  package var isNew: Bool

  /// Describes a connection; see the properties for what each part means.
  package init(hasCarriedRequest: Bool?, arrival: Arrival, security: Security, isNew: Bool) {
    self.hasCarriedRequest = hasCarriedRequest
    self.arrival = arrival
    self.security = security
    self.isNew = isNew
  }

  /// Whether the request may be written.
  package var permit: WritePermit {
    if security == .http2 { return .granted }
    guard let hasCarriedRequest, !isNew || !hasCarriedRequest else {
      return isNew ? .granted : .elsewhere
    }
    guard hasCarriedRequest else {
      // Under TLS the end of the handshake may still be unread, such as session tickets.
      guard security == .none else { return .granted }
      return switch arrival {
      case .nothing: .granted
      case .bytes: .refused(.peerSpokeFirst)
      case .end: .refused(.peerEnded)
      }
    }
    switch security {
    case .none, .tls(holdsUnreadBytes: false): return arrival == .nothing ? .granted : .elsewhere
    case .tls, .opaque, .http2: return .elsewhere
    }
  }
}

/// Whether a request may be written on a connection.
package enum WritePermit: Equatable {
  /// It may be written.
  case granted
  /// It may not be written on this connection, but on a new one at once.
  case elsewhere
  /// It may not be written at all.
  case refused(Refusal)

  /// The reason that a request was not written.
  package enum Refusal: Equatable {
    /// It has been written before, and must not be sent twice.
    case wouldRepeat
    /// The peer sent something on a new connection without a request.
    case peerSpokeFirst
    /// The peer ended a new connection at once.
    case peerEnded
    /// Another relay may be about to make the same attempt.
    case leaseLapsed
  }
}

extension OpenConnections {
  /// Whether a request may be written on the handle's connection.
  ///
  /// Called within CURLOPT_PREREQFUNCTION.
  ///
  /// - Parameter mayUseHTTP2: Whether the request may go over HTTP/2. Some versions of libcurl
  ///   choose a kept HTTP/2 connection although HTTP/1.1 was asked for.
  func permit(
    _ handle: borrowing CurlEasy, localPort: Int32, isSecure: Bool, isNew: Bool,
    mayUseHTTP2: Bool = true
  ) -> WritePermit {
    let security = isSecure ? ConnectionInspection.Security(of: handle) : .none
    if security == .http2 { return mayUseHTTP2 || isNew ? .granted : .elsewhere }
    let connection = connection(localPort: localPort)
    let inspection = ConnectionInspection(
      hasCarriedRequest: connection?.hasCarriedRequest,
      arrival: connection?.arrival ?? .nothing, security: security, isNew: isNew)
    return inspection.permit
  }
}

extension ConnectionInspection.Security {
  /// Inspects the TLS of the handle's connection.
  fileprivate init(of handle: borrowing CurlEasy) {
    guard CurlLibrary.sharesOpenSSL,
      let pointer = waystation_curl_openssl_session(handle.pointer)
    else {
      self = .opaque
      return
    }
    // Sound: libcurl holds the session as long as its callback lasts.
    let session = ObservedTLSSession(pointer)
    self = session.speaksHTTP2 ? .http2 : .tls(holdsUnreadBytes: session.holdsUnreadBytes)
  }
}
