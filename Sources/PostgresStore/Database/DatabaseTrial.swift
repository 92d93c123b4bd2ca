#if PostgreSQL
import Postgres
import RelayCore

/// A look at a database as a relay would use it, which changes nothing there.
package struct DatabaseTrial: Sendable {
  /// What was found, a line each.
  package private(set) var findings: [String] = []
  /// What keeps a relay from using it, a line each.
  package private(set) var faults: [String] = []
  /// Why its commits may be less safe than is wanted; nil if there is no such doubt.
  package private(set) var doubt: DurabilityDoubt?

  /// Connects, and looks.
  ///
  /// Blocks its thread for some seconds at most, and for as long as the look-up of names takes.
  ///
  /// - Throws: ``StoreError`` if there is no connection, or it is lost.
  package init(
    of address: PostgresAddress, wanting durability: StoreDurability
  ) throws(StoreError) {
    let reader = DatabaseReader(at: ServerChoice(address), DatabaseLimits())
    let rows = try reader.run([.server, .places])
    note(server: rows[0], at: address.alone(reader.host))
    lookAround(from: reader.host, startedAt: rows[0].text(0, 4), of: address)
    note(try DurabilityReading(reader, asksForStandbys: true), wanting: durability)
    guard !rows[1].isNull(0, 0) else {
      faults.append("there is no schema for tables: see the role's search_path and its rights")
      return
    }
    guard rows[1].bool(0, 2) else {
      try note(missing: rows[1], address.subject)
      return
    }
    // A transaction of its own, as it may be refused.
    guard rows[1].bool(0, 4) else {
      faults.append("the role may not read and write all of the relay's tables there")
      return
    }
    let tables = try reader.run([.tableVersions, .holders])
    if let fault = TablesFault.found(tables[0], of: address.subject) {
      faults.append(fault.detail)
    } else {
      findings.append("its tables are there, of version \(tables[0].int64(0, 0))")
    }
    note(holders: tables[1])
    guard try reader.run([DatabaseMoveMark.isThere])[0].bool(0, 0) else { return }
    let mark = DatabaseMoveMark.found(in: try reader.run([DatabaseMoveMark.selection])[0])
    if let mark { faults.append(mark.refusal(to: "open", address.subject).detail) }
  }

  private mutating func note(server rows: PostgresRows, at address: PostgresAddress) {
    let security = rows.textOrNil(0, 1).map { "over \($0)" } ?? "in plain text"
    findings.append(
      "PostgreSQL \(rows.text(0, 0)) at \(address.subject), \(security), as the role "
        + rows.text(0, 2))
    if rows.bool(0, 3) {
      faults.append(
        "it only reads: a standby, or set so. With several hosts, target_session_attrs=read-write "
          + "finds the one that writes")
    }
  }

  /// Looks what the other hosts of the URL say of themselves.
  ///
  /// - Parameter start: When the server was started that was found: two names may lead to it.
  private mutating func lookAround(
    from found: Int, startedAt start: String, of address: PostgresAddress
  ) {
    for index in 0..<address.hostCount where index != found {
      let other = address.alone(index)
      do throws(StoreError) {
        let reader = DatabaseReader(at: ServerChoice(other), DatabaseLimits())
        let server = try reader.run([.server])[0]
        if server.text(0, 4) == start {
          findings.append("\(other.subject) is the same server")
        } else if server.bool(0, 3) {
          findings.append("\(other.subject) is there as well, and only reads")
        } else {
          faults.append(
            "\(other.subject) says that it writes, too: of two such servers one is a former"
              + " primary, which has to be ended before a relay is started")
        }
      } catch {
        findings.append("\(other.subject) cannot be used just now: \(error.detail)")
      }
    }
  }

  private mutating func note(_ reading: DurabilityReading, wanting durability: StoreDurability) {
    findings.append(
      "synchronous_commit is \(reading.setting), synchronous_standby_names is "
        + (reading.names.isEmpty ? "empty" : "\"\(reading.names)\"") + ", and "
        + Self.words(for: reading.standbys))
    if let standstill = reading.standstill { faults.append(standstill) }
    doubt = reading.doubt(wanting: durability)
    if doubt == nil, durability.isLookedAt {
      findings.append("its commits are as safe as \(durability.rawValue) wants")
    } else if durability == .local, reading.setting == "off" {
      findings.append("synchronous_commit = off: a crash of the database loses the last posts")
    }
  }

  private static func words(for standbys: DurabilityReading.Standbys?) -> String {
    guard case .seen(let connected, let confirming, let hidden) = standbys else {
      return "it does not show its standbys"
    }
    let count = "\(connected) \(connected == 1 ? "standby is" : "standbys are") connected"
    guard connected > 0, hidden == 0 else { return count }
    return count + ", of which \(confirming) \(confirming == 1 ? "confirms" : "confirm") commits"
  }

  private mutating func note(missing rows: PostgresRows, _ subject: String) throws(StoreError) {
    let schema = rows.text(0, 0)
    if rows.bool(0, 3) {
      faults.append(TablesFault.missingVersion(of: subject).detail)
    } else if rows.bool(0, 1) {
      findings.append("it has no tables yet: the first relay makes them in the schema \(schema)")
    } else {
      faults.append("it has no tables, and the role may make none in the schema \(schema)")
    }
  }

  private mutating func note(holders rows: PostgresRows) {
    guard rows.count > 0 else {
      findings.append("no relay has the store")
      return
    }
    for row in 0..<rows.count {
      if rows.bool(row, 0) {
        let place = rows.textOrNil(row, 1).map { "at \($0)" } ?? "on the database's machine"
        findings.append("a relay \(place) has the store")
      } else {
        findings.append("a relay has the store that is not connected just now, or has ended")
      }
    }
  }
}

extension PostgresCommand {
  fileprivate static let server = PostgresCommand(
    """
    SELECT current_setting('server_version'),
      (SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND ssl), current_user,
      pg_is_in_recovery() OR current_setting('default_transaction_read_only') = 'on',
      pg_postmaster_start_time()::text
    """)

  /// The schema, whether tables may be made there, whether there are some, and whether they may be
  /// used.
  static let places = PostgresCommand(
    """
    SELECT current_schema(), coalesce(has_schema_privilege(current_schema(), 'CREATE'), false),
      to_regclass('schema_version') IS NOT NULL, to_regclass('seat') IS NOT NULL,
      (SELECT bool_and(has_table_privilege(one, 'SELECT') AND has_table_privilege(one, 'INSERT')
        AND has_table_privilege(one, 'UPDATE') AND has_table_privilege(one, 'DELETE'))
      FROM (SELECT to_regclass(name) AS one FROM
        unnest(ARRAY['schema_version', 'seat', 'envelope', 'line']) AS name) AS tables
      WHERE one IS NOT NULL)
    """)

  fileprivate static let holders = PostgresCommand(
    """
    SELECT pid IS NOT NULL, host(client_addr) FROM seat LEFT JOIN pg_stat_activity
    ON pid = backend AND pg_stat_activity.backend_start = seat.backend_start ORDER BY incarnation
    """)
}
#endif
