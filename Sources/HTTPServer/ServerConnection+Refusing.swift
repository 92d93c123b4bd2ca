import EventLoop
import RelayCore

extension ServerConnection {
  /// Responds to a connection beyond the limit without reading from it, and closes it.
  static func refuse(
    _ socket: Socket, from origin: RequestOrigin, _ detail: String, _ server: ServerContext,
    _ context: LoopContext
  ) async {
    let problem = ProtocolProblem(.tooManyConnections, detail)
    var response = server.problem(problem)
    if response.headers.first("Retry-After") == nil {
      // Random, so that clients that were sent away together do not come back together.
      let least = server.limits.retryAfterSeconds
      response.headers.add("Retry-After", Int.random(in: least...(3 * least)))
    }
    var bytes: [UInt8] = []
    var body: [UInt8] = []
    if case .bytes(let content) = response.body { body = content }
    let plan = ConnectionState.ResponsePlan(
      framing: .length(Int64(body.count)), sendsBody: true, keepsAlive: false,
      saysKeepAlive: false)
    ResponseHeadWriter.append(response, plan, context, to: &bytes)
    let now = MonotonicClock.now()
    let deadline = now.adding(milliseconds: server.limits.lingerTimeoutMs)
    let sent: ()? = try? await socket.write(
      bytes, body, stallMs: server.limits.lingerTimeoutMs)
    if let observer = server.exchanges, observer.isOn {
      let sentCount = sent == nil ? 0 : bytes.count + body.count
      observer.ended(
        Exchange(
          origin: origin, tlsVersion: nil, head: nil, problem: problem.kind,
          status: response.status, isWhole: sent != nil, receivedBytes: 0,
          sentBytes: Int64(sentCount), durationUs: nil, note: nil))
    }
    socket.shutdownWrites()
    await socket.discardInput(until: deadline)
    socket.close()
  }
}
