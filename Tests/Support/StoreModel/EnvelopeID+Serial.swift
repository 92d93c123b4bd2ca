import RelayCore

extension EnvelopeID {
  /// The number in an id: the model makes its ids of them, as an embedded store does.
  var serial: Serial { Serial(low >> 22 & 0xFF_FFFF_FFFF) }
}
