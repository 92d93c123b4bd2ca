import CLinux
import Glibc
import RelayCore
import Synchronization

/// The readiness reports of one `epoll_wait`.
struct EventBatch {
  var events = [waystation_event](
    repeating: waystation_event(), count: Int(WAYSTATION_EVENTS_PER_WAIT))
  var count = 0
}

/// The `epoll` instance, and the watch of each descriptor.
///
/// The kernel stores a word of ours with each descriptor: its number and the generation of its
/// registration. When a number is closed and used again while reports for the old one are still in
/// the batch, their generation no longer fits, and they are dropped.
///
/// Descriptors are watched edge-triggered, for both directions, from registration to close. That
/// takes one `epoll_ctl` per connection rather than one per wait, and a peer that keeps sending
/// while its request is processed wakes nobody. Edges require reading until the kernel has no more;
/// ``Watch`` keeps track of that.
final class WatchTable: Sendable {
  private struct Slot {
    var generation: UInt32 = 0
    var watch: Watch?
  }

  private let epoll: FileDescriptor
  private let slots = Mutex<[Slot]>([])

  init() throws(SystemError) {
    epoll = FileDescriptor(adopting: try systemCall("epoll_create1") { waystation_epoll_create() })
  }

  func addWakeUp(_ number: Int32) throws(SystemError) {
    try register(number, generation: 0)
  }

  func add(_ watch: Watch, number: Int32) throws(SystemError) {
    let generation = slots.withLock { slots in
      let index = Int(number)
      if index >= slots.count {
        slots.append(contentsOf: repeatElement(Slot(), count: index + 1 - slots.count))
      }
      slots[index].generation &+= 1
      slots[index].watch = watch
      return slots[index].generation
    }
    do {
      try register(number, generation: generation)
    } catch {
      slots.withLock { $0[Int(number)].watch = nil }
      throw error
    }
  }

  /// Ends the watch of a descriptor that is still open; the caller closes it next.
  func remove(_ number: Int32) {
    let watch = slots.withLock { slots in
      defer { slots[Int(number)].watch = nil }
      return slots[Int(number)].watch
    }
    guard watch != nil else { return }
    _ = waystation_epoll_remove(epoll.number, number)
  }

  func wait(timeoutMs: Int32, into batch: inout EventBatch) {
    let epoll = epoll.number
    let count = batch.events.withUnsafeMutableBufferPointer { events in
      waystation_epoll_wait(epoll, events.baseAddress, timeoutMs)
    }
    precondition(count >= 0 || errno == EINTR, "epoll_wait: errno \(errno)")
    batch.count = Int(max(0, count))
  }

  func deliver(_ batch: EventBatch, wakeUp: Int32) {
    for index in 0..<batch.count {
      let event = batch.events[index]
      let number = Int32(truncatingIfNeeded: event.data)
      let generation = UInt32(truncatingIfNeeded: event.data >> 32)
      if number == wakeUp, generation == 0 {
        var count: UInt64 = 0
        _ = Glibc.read(wakeUp, &count, 8)
        continue
      }
      let watch = slots.withLock { slots in
        let slot = slots[Int(number)]
        return slot.generation == generation ? slot.watch : nil
      }
      watch?.notice(event.bits)
    }
  }

  /// Wakes every wait whose deadline has passed, and returns the earliest of the others.
  func expire(at now: Int64) -> Int64 {
    // Copied, since a woken watch may close, and so come back to this table.
    let watches = slots.withLock { slots in slots.compactMap(\.watch) }
    return watches.reduce(Int64.max) { min($0, $1.expire(at: now)) }
  }

  func closeAll() {
    let watches = slots.withLock { slots in slots.compactMap(\.watch) }
    for watch in watches { watch.close() }
  }

  private func register(_ number: Int32, generation: UInt32) throws(SystemError) {
    let data = UInt64(generation) << 32 | UInt64(UInt32(bitPattern: number))
    _ = try systemCall("epoll_ctl") { waystation_epoll_add(epoll.number, number, data) }
  }
}
