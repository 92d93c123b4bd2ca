// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// What the library uses of Network, without any content: scripts/check-snippets compiles
// against it.
import Dispatch

public struct NWPath: Sendable {
  public enum Status: Sendable {
    case satisfied
    case unsatisfied
    case requiresConnection
  }

  public let status: Status
  public let isExpensive: Bool
  public let isConstrained: Bool
}

public final class NWPathMonitor: Sendable {
  public init() {}

  public var pathUpdateHandler: (@Sendable (_ newPath: NWPath) -> Void)? {
    get { nil }
    set {}
  }

  public func start(queue: DispatchQueue) {}

  public func cancel() {}
}
