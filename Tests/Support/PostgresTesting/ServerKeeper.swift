#if PostgreSQL
import Foundation
import Glibc
import Synchronization

/// A shell script that keeps database servers for as long as this process runs.
///
/// It reads lines from its standard input, and stops its servers when that ends, as it does when
/// this process ends, however that comes about.
final class ServerKeeper: Sendable {
  private let input: Int32
  private let output: Int32
  private let process: Mutex<Process>

  /// What each script begins with: a folder for its servers, and how one is made in it.
  ///
  /// PostgreSQL refuses to run as root, so root runs it as `postgres`. Nothing is synced: a test's
  /// data may be lost with the machine. `finish`, which a script says, stops its servers.
  private static let preparation = """
    set -u
    programs=$1
    folder=$(mktemp -d /tmp/waystation-postgres.XXXXXX) || exit 1
    as=
    if [ "$(id -u)" = 0 ]; then
      as='setpriv --reuid=postgres --regid=postgres --init-groups'
      chown postgres: "$folder"
    fi
    cd "$folder"
    trap 'finish; rm -rf "$folder"' EXIT
    trap '' INT TERM HUP PIPE
    fail() {
      tail -n 50 "$folder"/*.log >&2
      exit 1
    }
    # Makes a server in a folder of this name, with the settings of the standard input.
    make_server() {
      $as "$programs/initdb" -D "$folder/$1" -U postgres -A trust -E UTF8 --locale=C --no-sync \
        </dev/null >"$folder/initdb.log" 2>&1 || fail
      {
        cat
        echo "listen_addresses = '127.0.0.1'"
        echo "unix_socket_directories = ''"
        echo 'fsync = off'
        echo "lc_messages = 'C'"
      } >>"$folder/$1/postgresql.conf"
    }
    # Starts, stops or changes a server, which logs beside its folder.
    control() {
      name=$1
      shift
      $as "$programs/pg_ctl" -D "$folder/$name" -l "$folder/$name.log" -w -t 60 "$@" \
        >>"$folder/control.log" 2>&1
    }

    """

  /// Starts a script, after what all begin with.
  ///
  /// - Parameter arguments: The first one is what it calls itself; the second one is the folder of
  ///   PostgreSQL's programs.
  init(_ script: String, _ arguments: [String]) throws {
    let (reading, writing) = (try Self.pipe(), try Self.pipe())
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", Self.preparation + script] + arguments
    process.standardInput = FileHandle(fileDescriptor: reading.out, closeOnDealloc: true)
    process.standardOutput = FileHandle(fileDescriptor: writing.in, closeOnDealloc: true)
    // What the tests' own process is run with, such as a sanitizer's library, is not for others.
    process.environment = ProcessInfo.processInfo.environment.filter { $0.key != "LD_PRELOAD" }
    try process.run()
    (input, output) = (reading.in, writing.out)
    // Else the end of its output would not be seen here.
    close(writing.in)
    self.process = Mutex(process)
  }

  deinit {
    close(input)
    close(output)
  }

  /// Both ends of a pipe.
  ///
  /// No other program that tests start gets one: the servers would outlive this process with it.
  private static func pipe() throws -> (out: Int32, in: Int32) {
    var ends: [Int32] = [-1, -1]
    guard Glibc.pipe(&ends) == 0, ends.allSatisfy({ fcntl($0, F_SETFD, FD_CLOEXEC) == 0 }) else {
      throw PostgresServer.Failure("no pipe")
    }
    return (ends[0], ends[1])
  }

  /// Says a line to the script, and waits for its answer; nil if it has ended.
  func ask(_ line: String) -> String? {
    let bytes = Array((line + "\n").utf8)
    guard write(input, bytes, bytes.count) == bytes.count else { return nil }
    return nextLine()
  }

  /// Waits for the next line of its output; nil if it has ended.
  func nextLine() -> String? {
    var line: [UInt8] = []
    var byte: UInt8 = 0
    while true {
      let count = read(output, &byte, 1)
      if count < 0 && errno == EINTR { continue }
      guard count == 1 else { return nil }
      if byte == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
      line.append(byte)
    }
  }
}
#endif
