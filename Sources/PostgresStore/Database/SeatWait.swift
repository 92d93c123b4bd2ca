#if PostgreSQL
import EventLoop
import Postgres
import RelayCore

/// The wait of a spare relay until nobody has the store.
///
/// Blocks its thread. It polls: a relay that has died tells nobody.
struct SeatWait {
  let servers: ServerChoice
  let identity: RelayIdentity
  let limits: DatabaseLimits
  /// Is told, each time that it changes, what it waits for.
  let tell: (StoreWait) -> Void
  /// Whether to wait no longer.
  let isOver: (_ milliseconds: Int64) -> Bool

  /// Why a store must not be taken; nil if it may be.
  private let obstacle: (Seat) throws(PostgresError) -> StoreError?
  /// The same for each connection: a spare that connects anew is still one relay.
  private let process = Seat.newProcess()
  private var watch: SpareWatch
  /// Whether whoever has the store is about to give it up.
  private var isHandedOver = false
  /// When the relay shows itself next, and sees whether it may use the store.
  private var nextFullLook = Lease.now()
  private var told: StoreWait?
  private var refusal: StoreError?

  init(
    at servers: ServerChoice, _ identity: RelayIdentity, _ limits: DatabaseLimits,
    tell: @escaping (StoreWait) -> Void,
    isOver: @escaping (_ milliseconds: Int64) -> Bool,
    obstacle: @escaping (Seat) throws(PostgresError) -> StoreError? = {
      seat throws(PostgresError) in try seat.obstacle()
    }
  ) {
    self.servers = servers
    self.identity = identity
    self.limits = limits
    self.tell = tell
    self.isOver = isOver
    self.obstacle = obstacle
    watch = SpareWatch(limits.lease)
  }

  /// Waits, and takes the store; nil if it is to wait no longer.
  ///
  /// - Throws: ``StoreError`` if the database refuses the relay, or has tables that it cannot use.
  ///   A refusal that comes after a look that succeeded is borne for ``LeaseLimits/refusalMs``.
  mutating func seat() throws(StoreError) -> Seat? {
    var seat: Seat?
    repeat {
      do throws(PostgresError) {
        let open =
          if let seat { seat } else { try Seat(at: servers, identity, limits, process: process) }
        seat = open
        switch try look(by: open) {
        case .taken:
          note(.opening)
          return open
        case .waits(let holder): note(.another(address: holder))
        case .refused(let error): refusal = error
        }
      } catch {
        (seat, isHandedOver) = (nil, false)
        if error.mayPass {
          watch.failed()
          note(.unreachable(StoreError(error)))
        } else {
          guard error.isOfIdentity, watch.bearsRefusal(at: Lease.now()) else {
            throw StoreError(error)
          }
          note(.refused(StoreError(error), endsAfterSeconds: limits.lease.refusalMs / 1000))
        }
      }
      if let refusal { throw refusal }
    } while !isOver(isHandedOver ? limits.lease.handoverLookMs : limits.lease.beatMs)
    seat?.stopWaiting()
    return nil
  }

  private enum Look {
    case taken
    /// Another relay has the store, and is reached there.
    case waits(for: String?)
    case refused(StoreError)
  }

  private mutating func look(by seat: Seat) throws(PostgresError) -> Look {
    // While the store is being given up looks are quick, and most ask for the seats alone.
    let isFull = !isHandedOver || Lease.now() >= nextFullLook
    if isFull {
      nextFullLook = Lease.now().adding(milliseconds: limits.lease.beatMs)
      if let refusal = try obstacle(seat) { return .refused(refusal) }
    }
    let standing = try seat.standing()
    isHandedOver = standing.contains(where: \.isLeaving)
    let holder = standing.first?.address
    guard let dead = watch.see(standing.map(\.beats), at: Lease.now()) else {
      if isFull { seat.show() }
      return .waits(for: holder)
    }
    if !isFull, let refusal = try obstacle(seat) { return .refused(refusal) }
    return try seat.take(.from(dead)) ? .taken : .waits(for: holder)
  }

  private mutating func note(_ wait: StoreWait) {
    guard wait != told else { return }
    told = wait
    tell(wait)
  }
}

extension PostgresError {
  /// Whether the password is at fault, or else who the relay says that it is (class 28, invalid
  /// authorization specification), or the files that show it.
  var isOfIdentity: Bool {
    kind == .invalid || kind == .denied && sqlState?.hasPrefix("28") == true
  }

  /// Whether a later try could help by itself.
  var mayPass: Bool {
    switch kind {
    case .unreachable, .lost, .unconfirmed: return true
    case .denied, .invalid: return false
    case .rejected: return sqlState.map(Self.mayPass) ?? false
    }
  }
}
#endif
