/// The rules by which envelopes for one upstream go together in one request.
package struct BatchPolicy: Hashable, Sendable {
  /// The most envelopes in one request; at least 1.
  package var itemsMax: Int
  /// The longest wait for more envelopes while the upstream has others to work on, in milliseconds;
  /// 0 for none.
  package var lingerMs: Int64

  /// Sets both.
  package init(itemsMax: Int, lingerMs: Int64 = 0) {
    precondition(itemsMax >= 1 && lingerMs >= 0)
    self.itemsMax = itemsMax
    self.lingerMs = lingerMs
  }
}
