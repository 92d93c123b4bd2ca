import Glibc
import RelayCore
import SQLite
import SQLitePages

// Bodies in files of their own: a row says which file belongs to which envelope, and the index on
// the files' names says it again.
extension Salvage {
  /// Notes an entry of that index.
  func note(bodyFile record: StoredRecord) {
    guard record.values.count == 2, let name = record.values[0].text,
      let serial = record.values[1].integer, Self.isBodyName(name)
    else { return }
    bodyNames[serial] = name
  }

  /// Whether a body's file can have this name (``BodyFiles/freshPath()``).
  private static func isBodyName(_ name: String) -> Bool {
    name.utf8.count == 32
      && name.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
  }

  /// Puts body files beside the new database; an envelope without its body is lost.
  func carryOverBodies() throws(StoreError) {
    let row = try Statement("SELECT serial, name, bytes FROM body_file", on: connection)
    var doubtful: [(serial: Int64, fault: String, bytes: Int64?)] = []
    while try row.step() {
      let name = row.text(1) ?? ""
      if let fault = fault(inBody: name, bytes: row.int(2)) {
        doubtful.append((row.int(0), fault, row.int(2)))
      } else {
        try BodyFiles.carryOver("\(oldFolder)/bodies/\(name)", to: "\(newFolder)/bodies/\(name)")
      }
    }
    for serial in try numbers(
      """
      SELECT serial FROM envelope WHERE body IS NULL \
      AND serial NOT IN (SELECT serial FROM body_file)
      """)
    {
      doubtful.append((serial, "where its body is cannot be read", nil))
    }
    // A row whose envelope has its body elsewhere must not keep a name from those that need it.
    try connection.execute(
      "DELETE FROM body_file WHERE serial NOT IN (SELECT serial FROM envelope WHERE body IS NULL)")
    for (serial, fault, bytes) in doubtful {
      if let fault = try recoverBody(of: serial, fault, bytes: bytes) {
        try loseEnvelope(serial, fault)
      }
    }
  }

  /// The reason that a file is not the body of a row; nil if it is.
  ///
  /// - Parameter bytes: The length that it must have; nil if that is not known.
  private func fault(inBody name: String, bytes: Int64?) -> String? {
    let old = "\(oldFolder)/bodies/\(name)"
    let size = DataFolder.size(ofFile: old)
    if !Self.isBodyName(name) { return "the name of its body's file makes no sense" }
    if access(old, F_OK) != 0 { return "its body's file, \(name), is missing" }
    if let bytes, size != bytes {
      return "its body's file, \(name), has \(size) bytes instead of \(bytes)"
    }
    return size == 0 && bytes == nil ? "its body's file, \(name), is empty" : nil
  }

  /// Finds the body of an envelope by the index on the files' names.
  ///
  /// - Parameters:
  ///   - known: The reason that it was not found by its row.
  ///   - bytes: Its length by its row; nil if that is lost.
  /// - Returns: The reason that it is lost; nil if it was found.
  private func recoverBody(
    of serial: Int64, _ known: String, bytes: Int64?
  ) throws(StoreError) -> String? {
    guard let name = bodyNames[serial] else { return known }
    let isTaken = try Statement(
      "SELECT 1 FROM body_file WHERE name = ? AND serial <> ?", on: connection)
    guard try !isTaken.hasRow(name, serial) else { return known }
    // The line's count is independent of the row, and so is believed first.
    let lineBytes = try bodyBytes(of: serial)
    if let fault = fault(inBody: name, bytes: lineBytes ?? bytes) { return fault }
    let old = "\(oldFolder)/bodies/\(name)"
    let row = try Statement(
      "INSERT OR REPLACE INTO body_file (serial, name, bytes) VALUES (?, ?, ?)", on: connection)
    try row.run(serial, name, DataFolder.size(ofFile: old))
    try noteChecksum(of: serial, StoredBodyFile(path: old, byteCount: DataFolder.size(ofFile: old)))
    try BodyFiles.carryOver(old, to: "\(newFolder)/bodies/\(name)")
    return nil
  }

  /// Writes the checksum of a file whose row is lost.
  ///
  /// If the file is not as written, the envelope's own checksum shows it.
  private func noteChecksum(of serial: Int64, _ file: StoredBodyFile) throws(StoreError) {
    guard shapes.first(where: { $0.name == "body_file" })?.place(of: "checksum") != nil else {
      return
    }
    let checksum = try file.presentChecksum()
    try connection.execute(
      "UPDATE body_file SET checksum = \(checksum) WHERE serial = \(serial)")
  }

  /// The length of a body file by the line's count for its envelope.
  ///
  /// nil if it is not known: the envelope has ended, its place is lost, or it was written by a
  /// version that did not count.
  private func bodyBytes(of serial: Int64) throws(StoreError) -> Int64? {
    guard shapes.first(where: { $0.name == "line" })?.place(of: "bytes") != nil else { return nil }
    let row = try Statement(
      """
      SELECT l.bytes - length(e.target) - length(e.headers) FROM line AS l \
      JOIN envelope AS e USING (serial) WHERE l.serial = ?
      """, on: connection)
    guard let bytes = try row.first(serial, read: { $0.int(0) }), bytes > 0 else { return nil }
    return bytes
  }

  /// Gives up an envelope whose content is not complete.
  private func loseEnvelope(_ serial: Int64, _ reason: String) throws(StoreError) {
    guard let finding = try finding(.envelope, "envelope", of: serial, reason) else { return }
    try add(finding)
    // Its rows in other tables are deleted with the orphans; it is reported here already.
    for table in ["envelope", "line", "ended", "body_file"] {
      try connection.execute("DELETE FROM \(table) WHERE serial = \(serial)")
    }
  }
}
