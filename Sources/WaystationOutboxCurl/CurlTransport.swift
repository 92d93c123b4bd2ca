import Cryptography
import WaystationOutbox

/// Carries requests by libcurl, on threads of its own.
///
/// Certificates are checked, and no proxy, cookie or `.netrc` of the environment is used. A
/// connection is kept for the next request to the same server with the same certificate.
public final class CurlTransport: Transport {
  /// What may differ between devices.
  public struct Options: Sendable {
    /// A file of certificates (PEM), of which a server's has to come; nil for the system's.
    ///
    /// It is read for each new connection.
    public var certificates: String?
    /// The longest time for making a connection.
    public var connectTimeout: Duration = .seconds(10)
    /// How long a connection, and its thread, is kept without a request.
    public var idleTimeout: Duration = .seconds(60)
    /// Whether posts to `/v1/sync` of 1 KiB or more go as gzip, which a relay takes.
    public var compresses = false

    /// The usual options.
    public init() {}
  }

  private let threads: RequestThreads

  /// Prepares for requests; nothing is opened or started yet.
  public init(_ options: Options = Options()) {
    // The app may end while a thread has a request.
    OpenSSLLibrary.keepUntilEnd()
    threads = RequestThreads(options)
  }

  deinit { threads.close() }

  /// Makes one request; see ``Transport``.
  public func send(
    _ exchange: Exchange, progress: @escaping @Sendable (Progress) -> Void
  ) async throws(ConnectionFailure) -> Response {
    let request = try CurlRequest(exchange, threads.options, progress)
    let result: Result<Response, ConnectionFailure> = await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        threads.push(RequestJob(request: request) { continuation.resume(returning: $0) })
      }
    } onCancel: {
      request.cancel()
    }
    return try result.get()
  }
}
