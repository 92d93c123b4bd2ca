/// Something that the core wants done.
///
/// It is done once the transaction is on the disk that it belongs to.
enum Effect: Sendable {
  /// Make this request, and tell the core what came of it.
  case send(OutgoingExchange)
  /// Ask the app about an item, and tell the core what it said.
  ///
  /// The bytes are those of a command.
  case prepare(Item, command: (stored: [UInt8], version: Int)?)
  /// Have the signer sign these in their order, and tell the core what it has made.
  case sign([SigningTask])
  /// Forget the credentials; ask for others if it is true, and make the core try again.
  case askCredentials(Bool)
  /// Tell whoever listens.
  case tell(Event)
  /// Wake the core at this time since the device's start.
  case alarm(atMs: Int64)
  /// Remove a body that nobody needs any more.
  case removeFile(String)
  /// A run is over.
  case finishRun(RunNumber, RunReport)
}

/// A part of a body that is uploaded.
struct UploadPart: Sendable {
  /// The bytes before it.
  let offset: Int64
  /// The bytes of the whole body.
  let total: Int64

  /// How far the whole body has come when this part has come so far.
  func whole(_ progress: Progress) -> Progress {
    Progress(
      sent: min(total, offset + progress.sent), total: total, received: progress.received)
  }
}

/// A request without the destination's URL and the credentials.
struct OutgoingExchange: Sendable {
  let number: ExchangeNumber
  let method: String
  /// From the leading slash on, to be appended to the destination's base.
  let path: String
  var headers: [HeaderLine]
  let body: ExchangeBody
  /// The item whose progress is told; nil if there is no single one.
  let item: Int64?
  /// What of that item's body this request brings; nil for all of it.
  let part: UploadPart?
}
