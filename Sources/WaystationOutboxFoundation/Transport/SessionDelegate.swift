import Foundation
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Hands on what a session tells to the exchange that it is about.
final class SessionDelegate: NSObject, URLSessionDataDelegate, Sendable {
  private let exchanges = Mutex<[Int: SessionExchange]>([:])

  /// From now on a task's events are this exchange's.
  func add(_ exchange: SessionExchange, as task: Int) {
    exchanges.withLock { $0[task] = exchange }
  }

  private func exchange(_ task: URLSessionTask) -> SessionExchange? {
    let number = task.taskIdentifier
    return exchanges.withLock { $0[number] }
  }

  /// A redirect is an answer like others.
  func urlSession(
    _ session: URLSession, task: URLSessionTask,
    willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest,
    completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    completionHandler(nil)
  }

  /// A server that asks for a certificate is shown the exchange's; no other question has an answer.
  func urlSession(
    _ session: URLSession, task: URLSessionTask,
    didReceive challenge: URLAuthenticationChallenge,
    completionHandler:
      @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    #if canImport(Security)
    if let credential = KeychainIdentity.answer(to: challenge, exchange(task)?.identity) {
      return completionHandler(.useCredential, credential)
    }
    #endif
    #if canImport(FoundationNetworking)
    // This URLSession has the whole of an answer with 401 by now, and would keep it until somebody
    // brings a password.
    if let response = challenge.failureResponse {
      complete(task, response, nil)
      return completionHandler(.cancelAuthenticationChallenge, nil)
    }
    #endif
    completionHandler(.performDefaultHandling, nil)
  }

  /// A piece of the body has gone out.
  func urlSession(
    _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64,
    totalBytesSent: Int64, totalBytesExpectedToSend: Int64
  ) {
    exchange(task)?.sent(totalBytesSent)
  }

  /// A piece of the answer has come.
  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    exchange(dataTask)?.received(data)
  }

  /// The request is over.
  func urlSession(
    _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
  ) {
    complete(task, task.response, error)
  }

  private func complete(
    _ task: URLSessionTask, _ response: URLResponse?, _ error: (any Error)?
  ) {
    let number = task.taskIdentifier
    let exchange = exchanges.withLock { $0.removeValue(forKey: number) }
    exchange?.complete(response, error)
  }
}
