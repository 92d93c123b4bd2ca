import JSON
import RelayCore
import Synchronization

extension Driver {
  /// Has the relay make a change of an item that it has, and notes it.
  ///
  /// - Returns: Whether the body of an edit is the item's own by now.
  func ask(_ key: String, _ change: RelayChange) async throws(ChangeError) -> Bool {
    for step in try steps(key, change) {
      let response: Response
      do throws(ConnectionFailure) { response = try await request(step) } catch {
        throw .connection(error)
      }
      guard (200...299).contains(response.status) else {
        let problem = RelayProblem(response)
        throw .relay(problem: problem?.words ?? "the relay answered \(response.status)")
      }
      guard EnvelopeAnswer.id(response.body) != nil else { throw .connection(.notTheRelay) }
    }
    let isTaken = Mutex(false)
    await persist { core, now throws(StoreError) in
      core.state.changedMeanwhile.insert(key)
      let taken = try core.changedAtRelay(key, change, at: now)
      isTaken.withLock { $0 = taken }
    }
    return isTaken.withLock { $0 }
  }

  private func steps(
    _ key: String, _ change: RelayChange
  ) throws(ChangeError) -> [OutgoingRequest] {
    guard case .relay(_, let client, _) = settings.destination else { return [] }
    let path = RelayPath.envelope(key, of: client)
    switch change {
    case .cancel: return [OutgoingRequest(method: "DELETE", path: path)]
    case .discard: return [Self.json("POST", path + "/resolve", #"{"action":"discard"}"#)]
    case .retry(let edit):
      let retry = Self.json("POST", path + "/resolve", #"{"action":"retry"}"#)
      return try edit.map { edit throws(ChangeError) in [try patch(edit, path), retry] } ?? [retry]
    case .patch(let edit): return [try patch(edit, path)]
    }
  }

  private func patch(
    _ edit: RequestEdit, _ path: String
  ) throws(ChangeError) -> OutgoingRequest {
    do throws(StoreError) {
      return OutgoingRequest(
        method: "PATCH", path: path,
        headers: [HeaderLine(name: "Content-Type", value: "application/merge-patch+json")],
        body: .bytes(try EnvelopePatch.json(edit, bodies: bodies)))
    } catch {
      throw ChangeError(error)
    }
  }

  static func json(_ method: String, _ path: String, _ text: String) -> OutgoingRequest {
    OutgoingRequest(
      method: method, path: path,
      headers: [HeaderLine(name: "Content-Type", value: "application/json")],
      body: .bytes(Array(text.utf8)))
  }
}
