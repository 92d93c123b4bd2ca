import Foundation
import WaystationOutbox

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Carries requests by URLSession.
///
/// The session is ephemeral: it keeps no cookies, no credentials and no answers, and follows no
/// redirect. URLSession may write a request once more if a kept connection ends without an answer.
/// A relay, or an upstream that knows `Idempotency-Key`, takes it once all the same.
///
/// A part of an upload is in memory while it is sent; a whole file that goes straight to the
/// upstream is read as it is sent.
public final class URLSessionTransport: Transport {
  private let delegate = SessionDelegate()
  private let session: URLSession

  /// Prepares for requests; nothing is opened yet.
  ///
  /// - Parameter change: Sets up what apps differ in, such as `multipathServiceType`. What the
  ///   outbox relies on is set afterwards.
  public init(_ change: (URLSessionConfiguration) -> Void = { _ in }) {
    let configuration = URLSessionConfiguration.ephemeral
    change(configuration)
    configuration.httpCookieStorage = nil
    configuration.httpCookieAcceptPolicy = .never
    configuration.httpShouldSetCookies = false
    configuration.urlCache = nil
    configuration.urlCredentialStorage = nil
    configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
    session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
  }

  deinit { session.finishTasksAndInvalidate() }

  /// Makes one request; see ``Transport``.
  public func send(
    _ exchange: Exchange, progress: @escaping @Sendable (WaystationOutbox.Progress) -> Void
  ) async throws(ConnectionFailure) -> Response {
    let request = try SessionRequest(exchange)
    let running = SessionExchange(exchange, authority: request.authority, progress)
    let timer = Task {
      try await Task.sleep(for: exchange.timeout)
      running.end(.timedOut)
    }
    defer { timer.cancel() }
    let result: Result<Response, ConnectionFailure> = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        guard running.begin(continuation) else { return }
        let task = request.task(of: session)
        delegate.add(running, as: task.taskIdentifier)
        running.run(task)
      }
    } onCancel: {
      running.end(.givenUp)
    }
    return try result.get()
  }
}
