import HTTPServer
import RelayCore
import Synchronization

/// What was written and read of late of where passed requests came in: a sender's connection brings
/// one request after another.
final class PassedOriginMemory: Sendable {
  /// How many connections' are kept, in each direction.
  private static let countMax = 2_048
  /// The longest value of the field that is kept, in bytes; certificates may have many names.
  private static let valueBytesMax = 1_024

  private let written = Mutex(GenerationCache<RequestOrigin, [UInt8]>(countMax: countMax))
  private let read = Mutex(GenerationCache<[UInt8], PassedOrigin>(countMax: countMax))

  /// The value of the field for a request that came in at a listener of this relay.
  func fieldValue(of origin: RequestOrigin, at listener: ListenerConfiguration) -> [UInt8] {
    if let value = written.withLock({ $0.value(for: origin) }) { return value }
    let value = PassedOrigin(origin, at: listener).fieldValue
    if value.count <= Self.valueBytesMax { written.withLock { $0.insert(value, for: origin) } }
    return value
  }

  /// What the field's value says; nil if no relay has written it.
  func origin(fieldValue: ArraySlice<UInt8>) -> PassedOrigin? {
    let value = Array(fieldValue)
    if let origin = read.withLock({ $0.value(for: value) }) { return origin }
    guard let origin = PassedOrigin(fieldValue: fieldValue) else { return nil }
    if value.count <= Self.valueBytesMax { read.withLock { $0.insert(origin, for: value) } }
    return origin
  }
}
