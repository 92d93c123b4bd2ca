#if PostgreSQL
import Foundation
import Synchronization

/// Two servers of which Patroni decides, by leases in etcd, which one writes.
///
/// All processes stop when this one ends. A lease lasts 20 seconds, the shortest that Patroni has
/// (<https://patroni.readthedocs.io/en/latest/dynamic_configuration.html>).
package final class PatroniPair: DatabasePair {
  package let ports: [UInt16]
  private let keeper: ServerKeeper
  private let writer: Mutex<UInt16>

  /// Whether Patroni, etcd and PostgreSQL are installed on this machine.
  package static var isInstalled: Bool {
    PostgresServer.programs != nil
      && ["/usr/bin/patroni", "/usr/bin/etcd"].allSatisfy(
        FileManager.default.isExecutableFile(atPath:))
  }

  /// Starts etcd, both servers and their Patroni, and waits until commits wait for the standby.
  package init() throws {
    guard let programs = PostgresServer.programs, Self.isInstalled else {
      throw PostgresServer.Failure("Patroni, etcd and PostgreSQL are not installed")
    }
    // Two for the servers, two for their Patroni, and two for etcd.
    let free = try (0..<6).map { _ in try PostgresServer.freePort() }
    ports = free.prefix(2).map { UInt16($0) }
    keeper = try ServerKeeper(
      Self.script, ["patroni-pair", programs] + free.map { String($0) })
    writer = Mutex(0)
    try noteWriter(keeper.nextLine(), "start")
  }

  package var writerPort: UInt16 { writer.withLock { $0 } }

  /// It does not, since `synchronous_mode_strict` is set, as the handbook says.
  package var goesOnAlone: Bool { false }

  /// Kills the one that writes and its Patroni, and waits until the other one has its place.
  package func failOver() throws {
    try ask("end-writer")
    try promote()
  }

  /// Stops the one that writes, and its Patroni.
  package func freezeWriter() throws { try ask("freeze-writer") }

  /// Waits until Patroni has promoted the other one.
  package func promote() throws { try ask("await-promotion") }

  /// Has the former one and its Patroni go on, which then finds out that it has lost its lease.
  package func thawFormer() throws { try ask("thaw-former") }

  /// Starts the former one again if it was killed, and waits until Patroni has made it a standby.
  package func addStandby() throws { try ask("add-standby") }

  /// Has Patroni exchange the two, as operators do before they work on a machine.
  package func switchOver() throws { try ask("switch-over") }

  /// Stops etcd, and waits until Patroni has had the one that writes give that up.
  package func stopCoordinator() throws { try ask("stop-etcd") }

  /// Has etcd go on, and waits until commits wait for a standby again.
  package func resumeCoordinator() throws { try ask("resume-etcd") }

  private func ask(_ word: String) throws { try noteWriter(keeper.ask(word), word) }

  /// Each answer of the script names the port of the one that writes.
  private func noteWriter(_ answer: String?, _ word: String) throws {
    guard let answer, let port = UInt16(answer) else {
      throw PostgresServer.Failure("two servers under Patroni could not \(word)")
    }
    writer.withLock { $0 = port }
  }

  /// Starts the servers, and does as it is told.
  ///
  /// A node is named by its server's port. The one that was killed is rewound by Patroni, or copied
  /// anew. Patroni ends a wait by itself: nothing here gives up before the test does.
  private static let script = """
    first=$2 second=$3 first_rest=$4 second_rest=$5 etcd=$6 peers=$7
    master() { head -n 1 "$folder/$1/postmaster.pid" 2>/dev/null; }
    children() { cat "/proc/$1/task/$1/children" 2>/dev/null; }
    patroni_of() { cat "$folder/$1.pid"; }
    runs() { kill -0 "$1" 2>/dev/null; }
    gone() { while runs "$1"; do sleep 0.02; done; }
    # Patroni first: it would start its server again.
    end() {
      kill -9 "$(patroni_of "$1")" 2>/dev/null
      pid=$(master "$1") || return 0
      kill -9 "$pid" $(children "$pid") 2>/dev/null || true
      gone "$pid"
    }
    finish() {
      end "$first"
      end "$second"
      kill -9 "$etcd_pid"
    }
    # Whether the Patroni of a node says that it has this part (GET /primary, /sync).
    is() {
      rest=$first_rest
      if [ "$1" = "$second" ]; then rest=$second_rest; fi
      curl -s -f -m 2 -o /dev/null "http://127.0.0.1:$rest/$2"
    }
    other() { if [ "$1" = "$first" ]; then echo "$second"; else echo "$first"; fi; }
    configure() {
      cat >"$folder/$1.yml" <<END
    scope: waystation
    name: '$1'
    restapi: {listen: '127.0.0.1:$2', connect_address: '127.0.0.1:$2'}
    etcd3: {hosts: '127.0.0.1:$etcd'}
    bootstrap:
      dcs:
        ttl: 20
        loop_wait: 1
        retry_timeout: 3
        synchronous_mode: true
        synchronous_mode_strict: true
        postgresql:
          use_pg_rewind: true
          parameters: {max_connections: 100, shared_buffers: 32MB}
      initdb: [{encoding: UTF8}, {locale: C}, {auth: trust}, no-sync]
    postgresql:
      listen: '127.0.0.1:$1'
      connect_address: '127.0.0.1:$1'
      data_dir: '$folder/$1'
      bin_dir: '$programs'
      pgpass: '$folder/$1.pgpass'
      authentication: {superuser: {username: postgres}, replication: {username: postgres}}
      pg_hba: ['host all all 127.0.0.1/32 trust', 'host replication all 127.0.0.1/32 trust']
      parameters: {unix_socket_directories: '', fsync: 'off', lc_messages: C,
        wal_retrieve_retry_interval: 200ms}
      remove_data_directory_on_rewind_failure: true
      remove_data_directory_on_diverged_timelines: true
    END
    }
    start() {
      $as patroni "$folder/$1.yml" >>"$folder/$1.log" 2>&1 &
      echo $! >"$folder/$1.pid"
    }
    await_whole() {
      while :; do
        for node in "$first" "$second"; do
          if is "$node" primary && is "$(other "$node")" sync; then
            writer=$node
            return
          fi
        done
        sleep 0.1
      done
    }
    $as etcd --name one --data-dir "$folder/etcd" --unsafe-no-fsync \
      --listen-client-urls "http://127.0.0.1:$etcd" \
      --advertise-client-urls "http://127.0.0.1:$etcd" \
      --listen-peer-urls "http://127.0.0.1:$peers" \
      --initial-advertise-peer-urls "http://127.0.0.1:$peers" \
      --initial-cluster "one=http://127.0.0.1:$peers" >"$folder/etcd.log" 2>&1 &
    etcd_pid=$!
    configure "$first" "$first_rest"
    configure "$second" "$second_rest"
    start "$first"
    start "$second"
    await_whole
    echo "$writer"
    while read -r word; do
      case $word in
        end-writer) end "$writer" ;;
        freeze-writer)
          # Nothing more is started by then.
          kill -STOP "$(patroni_of "$writer")" && pid=$(master "$writer") \
            && kill -STOP "$pid" && kill -STOP $(children "$pid") || fail
          ;;
        await-promotion)
          writer=$(other "$writer")
          until is "$writer" primary; do sleep 0.05; done
          ;;
        thaw-former)
          former=$(other "$writer") pid=$(master "$former") \
            && kill -CONT $(children "$pid") "$pid" "$(patroni_of "$former")" || fail
          ;;
        add-standby)
          former=$(other "$writer")
          if ! runs "$(patroni_of "$former")"; then start "$former"; fi
          await_whole
          ;;
        switch-over)
          rest=$first_rest
          if [ "$writer" = "$second" ]; then rest=$second_rest; fi
          curl -s -f -o /dev/null "http://127.0.0.1:$rest/switchover" \
            -d "{\\"leader\\":\\"$writer\\",\\"candidate\\":\\"$(other "$writer")\\"}" || fail
          await_whole
          ;;
        stop-etcd)
          kill -STOP "$etcd_pid"
          while is "$writer" primary; do sleep 0.05; done
          ;;
        resume-etcd)
          kill -CONT "$etcd_pid"
          await_whole
          ;;
      esac
      echo "$writer"
    done
    """
}
#endif
