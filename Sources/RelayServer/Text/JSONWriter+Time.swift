import JSON
import RelayCore

extension JSONWriter {
  /// Writes a member that is a time, in RFC 3339; nothing for nil.
  mutating func member(_ name: String, _ time: WallTime?) {
    guard let time else { return }
    self.name(name)
    string(RFC3339.format(time))
  }

  /// Writes a member that is a count of envelopes for each of some states, all of them named.
  mutating func member(
    _ name: String, _ states: [EnvelopeState], _ count: (EnvelopeState) -> Int64
  ) {
    memberObject(name) { json in
      for state in states { json.member(state.rawValue, max(0, count(state))) }
    }
  }
}
