/// What a ``LeaseBook`` is told.
///
/// Each call that it asked for is answered by exactly one event. Beats have a connection of their
/// own; all other calls are made one after another. An answer that does not come is an event as
/// well: the connection is closed after a time limit, and the outcome told as unknown.
package enum LeaseEvent: Hashable, Sendable {
  /// Time has passed: the first event of all, and whenever ``LeaseBook/nextWake(after:)`` has come.
  case timePassed

  /// The beat was committed.
  case beatSucceeded
  /// The beat failed, or nobody knows.
  case beatFailed
  /// There is no such seat any more.
  case beatRefused

  /// The new seat stands, and has these shards of the seats that were given up.
  case seated([ShardLease])
  /// Both tables were read.
  case read(LeaseReading)
  /// The claim was committed and got these shards; none if others were first.
  case claimed([ShardLease])
  /// The handover was committed for these shards; not for those whose next seat is gone, or drains.
  case handedOver([Int])
  /// The seats are given up.
  case left
  /// The call failed, and nothing of it was done.
  case callFailed
  /// The fence refused the call (`WS001`), and nothing of it was done.
  case callRefused
  /// The connection was lost: nobody knows whether the call was, or will be, done.
  case callUnknown

  /// No attempt of a shard is under way any more, after ``LeaseAction/settle(_:)``.
  case settled(Int)
  /// Nothing of a shard is accepted any more and all of it is committed, after
  /// ``LeaseAction/freeze(_:)``.
  case frozen(Int)
  /// A commit of this seat has an unknown outcome.
  case commitUnknown(Incarnation)
  /// The fence refused a write of this seat (`WS001`).
  case writeRefused(Incarnation)
  /// Another relay says that it has handed shards over to this one, which need not wait for the
  /// next beat then.
  case tablesChanged
  /// All shards are to be handed over, and the seat given up.
  case drainAsked
}
