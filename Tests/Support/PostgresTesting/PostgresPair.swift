#if PostgreSQL
import Foundation

/// Two servers on loopback: one that writes, and a synchronous standby that can take its place.
///
/// Both stop when this process ends. Patroni does the same with leases of its own; here the test
/// says when.
package final class PostgresPair: Sendable {
  /// For both: whoever connects finds the one that writes.
  package let url: String
  private let keeper: ServerKeeper

  /// Starts both, and waits until commits wait for the standby.
  package init() throws {
    guard let programs = PostgresServer.programs else {
      throw PostgresServer.Failure("PostgreSQL is not installed")
    }
    let ports = try (0..<2).map { _ in try PostgresServer.freePort() }
    keeper = try ServerKeeper(
      Self.script, ["postgres-pair", programs, String(ports[0]), String(ports[1])])
    url =
      "postgresql://postgres@127.0.0.1:\(ports[0]),127.0.0.1:\(ports[1])/postgres"
      + "?target_session_attrs=read-write&sslmode=disable"
    guard keeper.nextLine() == "ready" else {
      throw PostgresServer.Failure("two servers of PostgreSQL did not start")
    }
  }

  /// Kills the one that writes as a power cut would, and has the standby take its place.
  ///
  /// It goes on alone until ``addStandby()``.
  package func failOver() throws { try ask("fail-over") }

  /// Kills the standby, and has the one that writes go on alone, in silence, as Patroni does
  /// without `synchronous_mode_strict`, until ``addStandby()``.
  package func loseStandby() throws { try ask("lose-standby") }

  /// Gives the one that writes a standby in place of the server that was killed, and waits until
  /// commits wait for it.
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
    writer=$2 standby=$3
    end() {
      pid=$(head -n 1 "$folder/$1/postmaster.pid" 2>/dev/null) || return 0
      kill -9 "$pid" $(cat "/proc/$pid/task/$pid/children") 2>/dev/null || true
      while kill -0 "$pid" 2>/dev/null; do sleep 0.02; done
    }
    finish() {
      end "$writer"
      end "$standby"
    }
    ask() {
      "$programs/psql" -X -q -A -t -h 127.0.0.1 -p "$writer" -U postgres -c "$1" postgres
    }
    add_standby() {
      rm -rf "$folder/$standby"
      $as "$programs/pg_basebackup" -D "$folder/$standby" -R -c fast --no-sync \
        -d "host=127.0.0.1 port=$writer user=postgres application_name=standby" \
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
    include = 'names.conf'
    END
    echo >"$folder/$writer/names.conf"
    control "$writer" start -o "-p $writer" || fail
    add_standby
    echo ready
    while read -r word; do
      case $word in
        fail-over)
          end "$writer"
          control "$standby" promote || fail
          former=$writer writer=$standby standby=$former
          ;;
        lose-standby)
          end "$standby"
          echo >"$folder/$writer/names.conf"
          control "$writer" reload || fail
          until [ -z "$(ask 'SHOW synchronous_standby_names')" ]; do sleep 0.05; done
          ;;
        add-standby) add_standby ;;
      esac
      echo ready
    done
    """
}
#endif
