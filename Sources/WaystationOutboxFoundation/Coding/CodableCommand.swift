import WaystationOutbox

/// A command that is stored as JSON of its members.
///
/// ```swift
/// struct Sale: CodableCommand {
///   static let tag: Tag = "sale"
///   var article: String
///   var cents: Int
/// }
/// ```
///
/// A member that is added later is optional, or ``version`` grows and
/// ``migrated(_:from:)`` reads what an older app has stored.
public protocol CodableCommand: Command, Codable {
  /// What is stored.
  static var form: any JSONForm { get }

  /// Reads a command that an older app has stored.
  ///
  /// Without one of your own it is read as if it were of this version.
  ///
  /// - Throws: What is wrong with it. The item waits for somebody then.
  static func migrated(_ stored: [UInt8], from version: Int) throws -> Self
}

extension CodableCommand {
  /// The first version.
  public static var version: Int { 1 }

  /// Foundation's JSON.
  public static var form: any JSONForm { FoundationJSON() }

  /// Reads it as if it were of this version.
  public static func migrated(_ stored: [UInt8], from version: Int) throws -> Self {
    try read(stored, version: version)
  }

  /// Reads a command.
  ///
  /// - Throws: ``CommandFault``, or what ``migrated(_:from:)`` throws.
  public init(stored: [UInt8], version: Int) throws {
    guard version <= Self.version else {
      throw CommandFault.newer(stored: version, known: Self.version)
    }
    self =
      version < Self.version
      ? try Self.migrated(stored, from: version) : try Self.read(stored, version: version)
  }

  /// The JSON that is stored.
  public func stored() throws(CommandFault) -> [UInt8] {
    do throws(JSONFault) { return try Self.form.encode(self) } catch { throw .unwritable(error) }
  }

  private static func read(_ stored: [UInt8], version: Int) throws(CommandFault) -> Self {
    do throws(JSONFault) { return try form.decode(Self.self, from: stored) } catch {
      throw .unreadable(version: version, error)
    }
  }
}

/// Why a command cannot be stored, or not be read again.
public enum CommandFault: Error, Sendable, Equatable, CustomStringConvertible {
  /// A newer app has stored it.
  case newer(stored: Int, known: Int)
  /// What is stored is of another form.
  case unreadable(version: Int, JSONFault)
  /// There is no JSON of it.
  case unwritable(JSONFault)

  /// In words.
  public var description: String {
    switch self {
    case .newer(let stored, let known):
      "it is of version \(stored), and this app knows versions up to \(known)"
    case .unreadable(let version, let fault):
      "it is of version \(version), and unreadable: \(fault)"
    case .unwritable(let fault): "it cannot be written: \(fault)"
    }
  }
}
