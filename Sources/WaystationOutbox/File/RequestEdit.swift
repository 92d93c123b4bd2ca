/// What takes the place of an item's request, checked already.
struct RequestEdit: Sendable {
  var request: KeptRequest?
  var body: NewBody = .none
  var hold: Bool?
  var expiresMs: Int64?
}
