import EventLoop
import RelayCore

extension PeerAddress {
  /// The source for quotas; nil for a process on this machine, which has no address.
  package var placeSource: PlaceSource? {
    guard case .tcp(let address) = self else { return nil }
    switch address.host {
    case .ipv4(let number): return PlaceSource(address: number)
    case .ipv6(0, let low) where low >> 32 == 0xFFFF:
      return PlaceSource(address: UInt32(truncatingIfNeeded: low))
    case .ipv6(let network, _): return PlaceSource(network: network)
    }
  }
}
