import CCurl
import Cryptography

/// What a connection shows at the last moment before a request is written on it, and what follows.
///
/// HTTP/1.1 has nothing but their order to say which answer belongs to which request: what has come
/// before a request was written would be taken for its answer.
package struct ConnectionGlimpse: Equatable {
  /// What has come that nobody has read.
  package enum Arrival: Equatable {
    case nothing
    case bytes
    /// The peer has ended the connection, or it has failed.
    case end
  }

  /// What secures it.
  package enum Security: Equatable {
    /// Nothing does.
    case none
    /// TLS, with or without bytes that were decrypted and that nobody has read.
    case tls(holdsUnreadBytes: Bool)
    /// TLS with HTTP/2 on it, where an answer names its request.
    case http2
    /// TLS that cannot be looked at.
    case opaque
  }

  /// Whether it has carried a request before; nil if it is not known which connection it is.
  package var hasCarriedRequest: Bool?
  /// What has come.
  package var arrival: Arrival
  /// What secures it.
  package var security: Security
  /// Whether libcurl was told to make a new connection for this request.
  package var isNew: Bool

  /// A glimpse; see the properties for what each part means.
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
      // Under TLS the end of the handshake may be still to be read, such as session tickets.
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
  /// It may.
  case granted
  /// Not on this connection, but on a new one at once.
  case elsewhere
  /// Not at all.
  case refused(Refusal)

  /// Why a request was not written.
  package enum Refusal: Equatable {
    /// It has been written before, and must not be sent twice.
    case wouldRepeat
    /// The peer sent something on a new connection without having been asked.
    case peerSpokeFirst
    /// The peer ended a new connection at once.
    case peerEnded
  }
}

extension OpenConnections {
  /// Whether a request may be written on the connection that the handle has.
  ///
  /// Called within CURLOPT_PREREQFUNCTION.
  ///
  /// - Parameter mayUseHTTP2: Whether the request may go over HTTP/2. Some versions of libcurl
  ///   choose a kept connection that speaks it though HTTP/1.1 was asked for.
  func permit(
    _ handle: borrowing CurlEasy, localPort: Int32, isSecure: Bool, isNew: Bool,
    mayUseHTTP2: Bool = true
  ) -> WritePermit {
    let security = isSecure ? ConnectionGlimpse.Security(of: handle) : .none
    if security == .http2 { return mayUseHTTP2 || isNew ? .granted : .elsewhere }
    let connection = connection(localPort: localPort)
    let glimpse = ConnectionGlimpse(
      hasCarriedRequest: connection?.hasCarriedRequest,
      arrival: connection?.arrival ?? .nothing, security: security, isNew: isNew)
    return glimpse.permit
  }
}

extension ConnectionGlimpse.Security {
  /// Looks at the TLS of the connection that the handle has.
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
