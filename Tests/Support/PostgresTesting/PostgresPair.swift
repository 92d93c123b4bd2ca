#if PostgreSQL
import Foundation
import Synchronization

/// Two servers of which the test says when the standby takes the other one's place.
///
/// Both stop when this process ends.
package final class PostgresPair: DatabasePair {
  package let ports: [UInt16]
  /// The standby's way to either of them, while that one writes.
  private let links: [LossyProxy]
  private let keeper: ServerKeeper
  /// Which of the two writes.
  private let writer = Mutex(0)

  /// Starts both, and waits until commits wait for the standby.
  package init() throws {
    guard let programs = PostgresServer.programs else {
      throw PostgresServer.Failure("PostgreSQL is not installed")
    }
    ports = try (0..<2).map { _ in UInt16(try PostgresServer.freePort()) }
    links = try ports.map { try LossyProxy(to: $0) }
    let numbers = (ports + links.map(\.port)).map { String($0) }
    keeper = try ServerKeeper(Self.script, ["postgres-pair", programs] + numbers)
    guard keeper.nextLine() == "ready" else {
      throw PostgresServer.Failure("two servers of PostgreSQL did not start")
    }
  }

  /// The port of the one that writes.
  package var writerPort: UInt16 { ports[writer.withLock { $0 }] }

  /// The standby's way to the one that writes.
  package var standbyLink: LossyProxy { links[writer.withLock { $0 }] }

  /// The URL of a database that is reached by these ports.
  package static func url(by ports: [UInt16]) -> String {
    "postgresql://postgres@" + ports.map { "127.0.0.1:\($0)" }.joined(separator: ",")
      + "/postgres?target_session_attrs=read-write&sslmode=disable"
  }

  package var goesOnAlone: Bool { true }

  /// See ``DatabasePair/failOver()``.
  package func failOver() throws {
    try endWriter()
    try promote()
  }

  /// Kills the standby, and has the one that writes go on alone, in silence, as Patroni does
  /// without `synchronous_mode_strict`, until ``addStandby()``.
  package func loseStandby() throws { try ask("lose-standby") }

  /// Kills the one that writes as a power cut would.
  package func endWriter() throws { try ask("end-writer") }

  /// See ``DatabasePair/freezeWriter()``.
  package func freezeWriter() throws { try ask("freeze-writer") }

  /// Has the one go on that writes, after it was stopped.
  package func thawWriter() throws { try ask("thaw-writer") }

  /// Has the standby take the place of the one that writes, whatever that one does.
  ///
  /// It goes on alone until ``addStandby()``.
  package func promote() throws {
    try ask("promote")
    writer.withLock { $0 = 1 - $0 }
  }

  /// Has the former one go on, which says that it writes; see ``DatabasePair/thawFormer()``.
  package func thawFormer() throws { try ask("thaw-former") }

  /// Gives the one that writes a standby in place of the other one, which is killed if it runs, and
  /// waits until commits wait for it.
  package func addStandby() throws { try ask("add-standby") }

  private func ask(_ word: String) throws {
    guard keeper.ask(word) == "ready" else {
      throw PostgresServer.Failure("the pair of servers could not \(word)")
    }
  }

  /// Starts the servers, and does as it is told.
  ///
  /// A server that is killed leaves what it wrote to the kernel. The pages of a killed server are
  /// never used again. A standby's `names.conf` is empty until it has one itself: after the
  /// promotion its commits would wait for nobody.
  private static let script = """
    writer=$2 standby=$3 first=$2 first_link=$4 second_link=$5
    # The process that starts all others of a server, and the others.
    master() { head -n 1 "$folder/$1/postmaster.pid" 2>/dev/null; }
    children() { cat "/proc/$1/task/$1/children" 2>/dev/null; }
    end() {
      pid=$(master "$1") || return 0
      kill -9 "$pid" $(children "$pid") 2>/dev/null || true
      while kill -0 "$pid" 2>/dev/null; do sleep 0.02; done
    }
    thaw() {
      pid=$(master "$1") && kill -CONT $(children "$pid") "$pid" || fail
    }
    finish() {
      end "$writer"
      end "$standby"
    }
    ask() {
      "$programs/psql" -X -q -A -t -h 127.0.0.1 -p "$writer" -U postgres -c "$1" postgres
    }
    add_standby() {
      end "$standby"
      rm -rf "$folder/$standby"
      link=$second_link
      if [ "$writer" = "$first" ]; then link=$first_link; fi
      $as "$programs/pg_basebackup" -D "$folder/$standby" -R -c fast --no-sync \
        -d "host=127.0.0.1 port=$link user=postgres application_name=standby" \
        >>"$folder/control.log" 2>&1 || fail
      echo >"$folder/$standby/names.conf"
      control "$standby" start -o "-p $standby" || fail
      echo "synchronous_standby_names = '*'" >"$folder/$writer/names.conf"
      control "$writer" reload || fail
      # Whatever was committed while nobody was waited for has to be there as well.
      through=$(ask 'SELECT pg_current_wal_flush_lsn()')
      until [ "$(ask "SELECT count(*) FROM pg_stat_replication
          WHERE sync_state = 'sync' AND flush_lsn >= '$through'")" = 1 ]; do
        sleep 0.05
      done
    }
    make_server "$writer" <<END
    max_connections = 100
    shared_buffers = 32MB
    wal_retrieve_retry_interval = 200ms
    include = 'names.conf'
    END
    echo >"$folder/$writer/names.conf"
    control "$writer" start -o "-p $writer" || fail
    add_standby
    echo ready
    while read -r word; do
      case $word in
        end-writer) end "$writer" ;;
        freeze-writer)
          # Nothing more is started by then.
          pid=$(master "$writer") && kill -STOP "$pid" && kill -STOP $(children "$pid") || fail
          ;;
        promote)
          control "$standby" promote || fail
          former=$writer writer=$standby standby=$former
          ;;
        lose-standby)
          end "$standby"
          echo >"$folder/$writer/names.conf"
          control "$writer" reload || fail
          until [ -z "$(ask 'SHOW synchronous_standby_names')" ]; do sleep 0.05; done
          ;;
        thaw-writer) thaw "$writer" ;;
        thaw-former) thaw "$standby" ;;
        add-standby) add_standby ;;
      esac
      echo ready
    done
    """
}
#endif
