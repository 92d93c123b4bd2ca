/// Something that can be done about a ``Need``.
package enum NeedAct: Sendable, Hashable {
  /// Try an upstream now.
  case probe(upstream: String)
  /// See whether an upstream takes the relay's credentials now.
  case tryCredentials(upstream: String)
  /// Stop attempts at an upstream.
  case pause(upstream: String)
  /// Let attempts at an upstream go on.
  case resume(upstream: String)
  /// See the envelopes of an upstream in some states.
  case list(upstream: String, Set<EnvelopeState>)
  /// Do the same with all envelopes of a selection, in one operation.
  case operate(Operation.Action, EnvelopeSelection)
  /// See one envelope, and what the upstream said of it.
  case show(EnvelopeID)
  /// See the lanes that stand for a reason.
  case listLanes
  /// Have a configuration file looked at.
  case checkConfiguration(path: String)
  /// Have the store that a configuration file names looked at.
  case tryStore(path: String)
  /// Say that devices know the keys of receipts that a configuration file names.
  case acceptKeys(path: String)
  /// Have the store looked at, once the relay is stopped.
  case checkStore
  /// See which clients have most waiting.
  case listClients
}
