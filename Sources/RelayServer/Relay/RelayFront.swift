import EventLoop
import HTTPServer
import RelayCore

/// What faces the senders: the server with its listeners, and what answers there.
///
/// It is there before the relay has its store, so that a spare can listen and pass requests on.
struct RelayFront: Sendable {
  /// The server and its listeners.
  let server = ServerFront()
  /// What answers the requests.
  let answers: FrontHandler
  /// Passes requests on while the relay is a spare; nil if it does not listen then.
  let passing: Passing?
  fileprivate let configuration: Configuration
  private let loops: [EventLoop]
  private let sockets: InheritedSockets
  private let log: Log

  /// Prepares to listen.
  ///
  /// - Parameter sockets: What the service manager has handed over.
  init(
    _ configuration: Configuration, on loops: [EventLoop], sockets: InheritedSockets, log: Log
  ) throws(RelayStartError) {
    do throws(SystemError) {
      passing = try configuration.relaysListener.map { own throws(SystemError) in
        try Passing(own, listeners: configuration.listen, loop: loops[0], log: log)
      }
    } catch {
      throw RelayStartError(description: "cannot start: \(error)")
    }
    answers = FrontHandler(passing, for: server)
    self.configuration = configuration
    self.loops = loops
    self.sockets = sockets
    self.log = log
  }

  // MARK: - Listening

  /// Binds the listeners and begins to accept.
  func open() throws(RelayStartError) {
    let certificates = try loadCertificates()
    let server = makeServer()
    var endpoints: [Endpoint] = []
    for (number, listener) in configuration.listen.enumerated() {
      do throws(SystemError) {
        endpoints.append(
          try server.bind(
            listener.endpoint, number: number, mode: listener.mode, inherited: sockets,
            tls: certificates.credentials(of: number), room: listener.room))
      } catch {
        server.stopAccepting()
        throw RelayStartError(cannotListenOn: listener.endpoint, error)
      }
    }
    for name in sockets.names {
      log.warning(
        "the service manager has handed over a socket that no listener names",
        ("name", .text(name)),
        ("fix", .text("listen on systemd:\(name), or take it out of its unit")))
    }
    self.server.open(server, on: loops, certificates, at: endpoints)
    passing?.note(ownAddress: relaysAddress)
    for (listener, address) in zip(configuration.listen, addresses) {
      log.info(
        "listening", ("address", .text(address)),
        ("for", .text(listener.audience?.rawValue ?? "devices and operators")))
    }
  }

  private func makeServer() -> HTTPServer {
    HTTPServer(
      limits: configuration.limits.http, loops: loops, handler: answers,
      problem: RelayHandler.response(to:),
      handshakeFailed: { [answers, log] failure in
        answers.parts?.metrics.countHandshakeFailure(on: failure.listener)
        log.tell(failure)
      },
      observeDelay: { [answers] in answers.parts?.admission.noteReadDelay($0) },
      observeAnswer: { [answers] in answers.parts?.metrics.count($0) },
      exchanges: AccessLog(log: log))
  }

  private func loadCertificates() throws(RelayStartError) -> ListenerCertificates {
    do throws(ListenerCertificates.Failure) {
      return try ListenerCertificates(loading: configuration.listen, log: log)
    } catch {
      throw RelayStartError(description: error.description)
    }
  }

  /// The addresses that it listens on, with actual ports, in the order of the configuration.
  var addresses: [String] {
    zip(configuration.listen, server.endpoints).map { $0.shown(bound: $1) }
  }

  /// The host and port at which other relays reach this one; nil if they do not.
  var relaysAddress: String? {
    for (listener, endpoint) in zip(configuration.listen, server.endpoints)
    where listener.audience == .relays {
      return listener.advertised ?? endpoint.description
    }
    return nil
  }

  // MARK: - From a spare to the one that has the store

  /// Notes what the start waits for.
  func note(_ wait: StoreWait) { passing?.note(wait) }

  /// The relay has its store, and answers from now on.
  func lead(_ parts: RelayParts) {
    answers.lead(parts)
    passing?.rest()
  }

  // MARK: - From the one that has the store to one that ends

  /// How long requests that began before may take while others are still answered, in milliseconds.
  private static let slowMs: Int64 = 5_000
  /// How long those that are left may take while no other one is answered, in milliseconds.
  private static let lastMs: Int64 = 200
  /// How long requests are taken for the next relay, in milliseconds; they get as long again for
  /// their answers as at any stop.
  private static let followedMs: Int64 = 1_000

  /// Waits for the requests that began before, such as large bodies; others are answered meanwhile.
  func finishEarlier(graceMs: Int64) async {
    await answers.finishEarlier(withinMs: min(graceMs, Self.slowMs), on: loops[0])
  }

  /// The relay is about to give its store up: requests wait for the next one, and are passed on to
  /// it.
  ///
  /// Waits a moment for those that it answers itself.
  func giveUp() async { await answers.giveUp(withinMs: Self.lastMs, on: loops[0]) }

  /// Another relay has the store, and gets what waits; nil if none has taken it.
  ///
  /// What is passed on then is broken off after a moment: an answer may be long, as events are, and
  /// the relay is to end.
  func follow(_ successor: Successor?) {
    guard let successor else {
      passing?.stop()
      return
    }
    passing?.note(.another(address: successor.address))
    _ = loops[0].schedule(afterMs: Self.followedMs) { [passing] in passing?.stop() }
  }

  /// Ends what is passed on, once nobody is left to answer.
  func retire() { passing?.retire() }

  /// Ends the listening of a relay that never had its store.
  func close() async {
    passing?.stop()
    let graceMs = Int64(configuration.shutdownGraceSeconds) * 1000
    await server.drain(until: MonotonicClock.now().adding(milliseconds: graceMs))
    passing?.retire()
  }
}

/// A relay that listens, perhaps as a spare.
package struct ListeningRelay: Sendable {
  let front: RelayFront

  /// The addresses that it listens on, with actual ports, in the order of the configuration.
  package var addresses: [String] { front.addresses }

  /// Loads the listeners' certificates again, and shows the relay that has the store the new one.
  ///
  /// Reads files: not on a loop that serves.
  ///
  /// - Returns: What is wrong with those that are not taken.
  package func reloadCertificates() -> [String] {
    let problems = front.server.reloadCertificates().problems
    front.passing?.refresh()
    return problems
  }

  /// What it cannot take up of another configuration once it has the store.
  package func obstacles(to new: Configuration) -> [ConfigurationProblem] {
    new.obstacles(after: front.configuration)
  }
}

extension ListenerConfiguration {
  /// The room that its connections have.
  fileprivate var room: ConnectionRoom {
    switch audience {
    case .operators: .reserved
    case .relays: .trusted
    case .devices, nil: .common
    }
  }
}
