import RelayCore

@testable import StoreModel

// What an upstream has taken and not answered: one kind is told to sort that out by itself,
// one is asked, and one must not get it again.
extension Simulation {
  /// Where it would matter, nothing is sent that the upstream has already, unless somebody wants
  /// it.
  mutating func checkNotTaken(_ entry: LineEntry) {
    let index = Self.index(entry.upstream)
    guard Self.ambiguity(ofUpstream: index) != .retry else { return }
    if upstreams[index].taken.contains(entry.serial) {
      violate("\(entry.serial) was sent again to upstream \(index), which has it")
    }
    if store.place(of: entry.serial)?.isInDoubt != true {
      violate("\(entry.serial) was sent, and a kill now would send it again")
    }
  }

  /// Somebody resolves, corrects or requeues an envelope: to send it once more is what they want,
  /// unless it is one that the upstream is to be asked for first.
  mutating func noteWishToSendAgain(_ transition: Transition) {
    let place = store.place(of: transition.serial)
    switch transition.change {
    case .release: guard place?.standing == .blocked else { return }
    case .edit: guard place != nil else { return }
    case .requeue:
      guard let end = store.envelopes[transition.serial]?.end, !end.isInDoubt else { return }
    case .begin, .retry, .block, .end: return
    }
    for index in upstreams.indices { upstreams[index].forget(transition.serial) }
  }
}
