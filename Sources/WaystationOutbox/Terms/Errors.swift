/// Why an outbox cannot be opened.
public enum OutboxError: Error, Sendable, Equatable {
  /// Another process has it open; its number, if it is known.
  case owned(pid: Int32?)
  /// A newer version of this library has written it.
  ///
  /// It was left untouched.
  case newerSchema(Int)
  /// The settings contradict themselves; in words.
  case invalid(String)
  /// The disk or the folder; in words, with what to do.
  case io(String)
}

/// Why an item is not taken in.
public enum EnqueueError: Error, Sendable, Equatable {
  /// A limit is reached.
  case full(Limit)
  /// The outbox is closed.
  case closed
  /// The item alone is larger than the limit of all.
  case tooLarge
  /// Something in it cannot be used; in words.
  case invalid(String)
  /// The key is that of this item, which has another request, or stands in another lane.
  ///
  /// It may have ended: a key is known as long as the item's ending is kept (``Limits/endings``).
  case keyConflict(Item.ID)
  /// The disk; in words, with what to do.
  case io(String)
}

/// What there is no more of.
public enum Limit: Sendable, Hashable {
  /// ``Limits/items``.
  case items
  /// ``Limits/bytes``.
  case bytes
  /// The disk.
  case disk
}

/// Why an item cannot be changed.
public enum ChangeError: Error, Sendable {
  /// There is no such item, or it has been forgotten.
  case unknown
  /// It can no longer be changed so: this is where it is.
  case sealed(Item.State)
  /// The change itself cannot be used; in words.
  case invalid(String)
  /// It was signed under this number, and has left the device, or what is behind it has: another
  /// request would have to come in its place.
  ///
  /// Hand over the right one under a new key, and then discard or cancel this one.
  case signed(UInt64)
  /// The relay has refused the change; in its words, for people.
  ///
  /// In an evidence lane it refuses each change of a request that it has.
  case relay(problem: String)
  /// The relay has the item, and cannot be reached.
  case connection(ConnectionFailure)
  /// The outbox is closed.
  case closed
  /// The disk; in words, with what to do.
  case io(String)
}
