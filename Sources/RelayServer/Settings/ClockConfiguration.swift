/// The configuration for a machine's clock that is set.
package struct ClockConfiguration: KeyedSection, Sendable {
  package var settleSeconds = 300

  /// The defaults.
  package init() {}

  @KeyList static var keys: [Key] {
    // A day: whoever has set a clock wrong has noticed by then.
    Key(
      "settleSeconds", \.settleSeconds, .integer(0...86_400),
      """
      how long a machine's clock that was set ahead has to stay so before it counts; see \
      [clocks](operating.md#clocks)
      """)
  }
}
