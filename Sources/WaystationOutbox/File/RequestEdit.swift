/// What takes the place of an item's request, checked already.
struct RequestEdit: Sendable {
  var request: KeptRequest?
  var body: NewBody = .none
  /// What it takes the place of, as far as the device still has that.
  var former: KeptRequest?
  var hold: Bool?
  var expiresMs: Int64?
}
