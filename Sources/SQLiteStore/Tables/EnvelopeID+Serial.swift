import RelayCore

extension EnvelopeID {
  /// The number that this store accepted the envelope under: the order of acceptance.
  var serial: Serial { Serial(low >> 22 & 0xFF_FFFF_FFFF) }
}
