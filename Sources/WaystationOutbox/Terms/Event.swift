/// Something that has happened in an outbox.
///
/// What it tells of is on disk by then.
public enum Event: Sendable {
  /// An item was taken in.
  case enqueued(Item)
  /// An item's body is on its way.
  ///
  /// An upload counts in bytes of the whole body, also where it goes in parts.
  case sending(Item.ID, Progress)
  /// The relay has an item, under this id of its own.
  ///
  /// The id is empty where the relay had the item before and does not say which one it is: the
  /// answer to an earlier post was lost, or the relay has forgotten all of it but its key.
  case accepted(Item.ID, relay: String)
  /// The relay has signed for a lane's items, up to ``Receipt/last``.
  case receipt(Receipt)
  /// The relay's receipts of a lane contradict what this device has sent, or what the relay had
  /// signed before, or nobody can have made them.
  ///
  /// Nothing is let go of because of them: what the device still has of the lane stays until it is
  /// known how it has ended.
  case custodyBroken(Lane, CustodyFault)
  /// An item was passed over.
  case skipped(Item.ID, SkipReason)
  /// An item is over.
  case ended(Item.ID, Outcome)
  /// The item was refused, or the app has recorded an error; it waits for somebody.
  case errorRecorded(Item.ID, RecordedError)
  /// The recorded error was resolved.
  case errorResolved(Item.ID)
  /// A later item has taken the place of one that waited.
  case coalesced(Item.ID, by: Item.ID)
  /// The connection has changed.
  case reachability(Link)
  /// The credentials are refused, and there are no others.
  ///
  /// Everything waits.
  case credentialsRefused
  /// Nobody answers.
  ///
  /// It is tried again by itself.
  case unreachable(ConnectionFailure)
  /// Somebody asked to be left alone until then.
  case limited(until: Instant, reason: String)
  /// The oldest items were dropped to make room.
  case dropped([Item.ID], WhenFull)
  /// What was stored could not be read; what remains of it goes on.
  case damaged(String)
  /// The disk does not take what happens: nothing is kept, and nothing is sent, until it does.
  ///
  /// It is tried again by itself, and told once until it has succeeded.
  case storeFailing(String)
  /// What has to be signed waits, since ``Settings/signer`` did not sign it, or is missing.
  ///
  /// It is asked again by itself. Everything else goes on.
  case signerFailing(SignerFailure)
  /// The device was restored or cloned; the lane goes on above the relay's highest number.
  case rejoined(Lane)
  /// The relay has lost what it had said it had on its disk: the items of these numbers, of which
  /// the device has kept no copy.
  ///
  /// What the device still had goes again.
  case relayBehind(Lane, first: UInt64, last: UInt64)
  /// So many events were not read in time, and are lost to this reader.
  case missed(Int)
}

/// What is known of the connection.
public enum Link: Sendable, Hashable {
  /// There is none.
  case offline
  /// There is one that costs, or is to be spared.
  case constrained
  /// There is one.
  case open
}
