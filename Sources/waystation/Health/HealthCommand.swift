import EventLoop
import Glibc
import RelayCore
import RelayServer

/// `waystation health`: asks a running relay whether it is ready.
enum HealthCommand {
  /// The time limit of the whole check, in milliseconds.
  static let timeoutMs: Int64 = 3000

  static func run(server: String?) -> ExitCode {
    _ = signal(SIGPIPE, SIG_IGN)
    do throws(HealthFailure) {
      let target = try HealthTarget.find(flag: server, environment: Environment.variables())
      let loop = try makeLoop()
      return Blocking.run(on: loop) {
        do throws(HealthFailure) {
          try await HealthCheck.ask(
            target, on: loop, until: MonotonicClock.now().adding(milliseconds: timeoutMs))
          StandardStream.output.line("\(target) is ready")
          return .good
        } catch {
          return tell("\(target) is not ready: \(error.reason)")
        }
      }
    } catch {
      return tell(error.reason)
    }
  }

  private static func makeLoop() throws(HealthFailure) -> EventLoop {
    do throws(SystemError) {
      return try EventLoop(name: "health")
    } catch {
      throw HealthFailure(reason: "cannot start: \(error)")
    }
  }

  private static func tell(_ sentence: String) -> ExitCode {
    StandardStream.error.line("waystation health: \(sentence)")
    return .failed
  }
}

/// The reason that the relay is not known to be ready.
struct HealthFailure: Error, Equatable {
  let reason: String
}
