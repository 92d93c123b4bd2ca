import RelayCore

/// How much room there is for the envelopes of one post, given out one by one.
///
/// Counted once, when the post comes in: posts that come in at the same moment may together pass a
/// limit by as many as they bring.
struct Room {
  private let context: EndpointContext
  private var left: Int
  private var leftOfClients: [String: Int] = [:]

  /// Looks how much room there is.
  ///
  /// - Throws: `draining` or `queue-full` if nothing can be taken at all, so that a body need not
  ///   even be read.
  init(_ context: EndpointContext) throws(Problem) {
    guard !context.relay.isDraining else { throw .draining() }
    self.context = context
    left = context.limits.waitingEnvelopesMax - context.relay.dispatcher.waitingCount
    guard left > 0 else { throw .queueFull() }
  }

  /// Takes room for one envelope.
  ///
  /// - Throws: `client-queue-full` or `queue-full`.
  mutating func take(for client: String) async throws(Problem) {
    if let countMax = context.limits.clientWaitingEnvelopesMax {
      let left: Int
      if let known = leftOfClients[client] {
        left = known
      } else {
        left = countMax - (try await waitingCount(of: client))
      }
      leftOfClients[client] = left - 1
      guard left > 0 else { throw .clientQueueFull(client) }
    }
    guard left > 0 else { throw .queueFull() }
    left -= 1
  }

  private func waitingCount(of client: String) async throws(Problem) -> Int {
    do throws(StoreError) {
      let number = try await context.clientNumbers.number(of: client, in: context.store)
      return number.map { context.relay.dispatcher.waiting(of: $0) } ?? 0
    } catch {
      throw context.problem(error)
    }
  }
}
