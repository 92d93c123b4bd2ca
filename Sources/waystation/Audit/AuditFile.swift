import EventLoop
import JSON
import RelayCore
import WaystationOutbox

/// Files that an audit reads: small ones whole, long ones line by line.
enum AuditFile {
  /// All bytes of a file.
  static func read(_ path: String) throws(AuditTrouble) -> [UInt8] {
    do throws(SystemError) {
      return try FileContents.read(
        path == "-" ? "/dev/stdin" : path, bytesMax: InputFile.bytesMax)
    } catch {
      throw .unreadable("\(path) cannot be read: \(error.reason)")
    }
  }

  /// Hands over each line that is not blank, as JSON, with its number.
  static func forEachLine(
    of path: String, _ body: (JSONValue, _ number: Int) throws(AuditTrouble) -> Void
  ) throws(AuditTrouble) {
    var number = 0
    let file = try open(path)
    while let line = try next(file) {
      number += 1
      guard !line.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) else { continue }
      let value: JSONValue
      do throws(JSONError) { value = try JSONValue.parse(Array(line)) } catch {
        throw .unreadable("line \(number) of \(path) is no JSON: \(error.reason)")
      }
      try body(value, number)
    }
  }

  private static func open(_ path: String) throws(AuditTrouble) -> LineFile {
    do throws(OperatorFailure) { return try LineFile(path) } catch {
      throw .unreadable(error.reason)
    }
  }

  private static func next(_ file: LineFile) throws(AuditTrouble) -> ArraySlice<UInt8>? {
    do throws(OperatorFailure) { return try file.next() } catch {
      throw .unreadable(error.reason)
    }
  }
}
