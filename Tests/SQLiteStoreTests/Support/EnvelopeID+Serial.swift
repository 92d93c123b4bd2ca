import RelayCore

extension EnvelopeID {
  /// The number in an id that ``init(serial:acceptedAt:random:)`` has made.
  var serial: Serial { Serial(low >> 22 & 0xFF_FFFF_FFFF) }
}
