import EventLoop

extension Relay {
  /// Opens the store, takes up the line where it was left, binds the listeners, and
  /// begins to accept and to deliver.
  ///
  /// - Parameters:
  ///   - configuration: Checked already.
  ///   - loops: At least one; connections are spread over them.
  ///   - log: Where it logs.
  /// - Throws: ``RelayStartError``; nothing is left behind then but the data folder.
  package static func start(
    _ configuration: Configuration, loops: [EventLoop], log: Log
  ) async throws(RelayStartError) -> Relay {
    let relay = try await Relay.assemble(configuration, loop: loops[0], log: log)
    do throws(RelayStartError) {
      try relay.listen(
        on: loops, handler: RelayHandler(relay), problem: RelayHandler.response(to:))
      relay.warnOfOpenness()
      relay.setOff()
    } catch {
      await relay.drain(graceSeconds: 0)
      throw error
    }
    return relay
  }

  /// What was configured on purpose may have been forgotten since.
  private func warnOfOpenness() {
    guard access.isOpen, configuration.listen.contains(where: { !$0.endpoint.isLocal }) else {
      return
    }
    log.warning("anybody who can reach the relay may use it, as access.anonymous says")
  }
}
