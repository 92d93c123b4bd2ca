import Forwarder
import Testing

@Suite("When the forwarder's thread pauses")
struct SpinGuardTests {
  /// Runs turns that end at once until the bytes are to be counted; says how many that took.
  private func spin(_ spinGuard: inout SpinGuard) -> Int {
    for turn in 1...1000 where spinGuard.turnEnds(waitedNs: 0, hasChanged: false) { return turn }
    return .max
  }

  /// The same, and then tells of so many bytes: after how many turns, and whether it pauses.
  private func look(
    _ spinGuard: inout SpinGuard, movedBytes: Int64, isUploadHeld: Bool = true
  ) -> [Int] {
    let turns = spin(&spinGuard)
    let mustPause = spinGuard.mustPause(movedBytes: movedBytes, isUploadHeld: isUploadHeld)
    return [turns, mustPause ? 1 : 0]
  }

  @Test("it pauses while turns end at once and no byte moves, and goes on when one does")
  func still() {
    var spinGuard = SpinGuard()
    // The first time there is nothing to compare with.
    let looks = [5, 5, 5, 6, 6].map { look(&spinGuard, movedBytes: $0) }
    let most = SpinGuard.idleTurnsMax
    #expect(looks == [[most, 0], [most, 1], [1, 1], [1, 0], [most, 1]])
  }

  @Test("it does not where no upload is held up")
  func handshakes() {
    var spinGuard = SpinGuard()
    let looks = (1...10).map { _ in look(&spinGuard, movedBytes: 5, isUploadHeld: false) }
    #expect(looks.allSatisfy { $0 == [SpinGuard.idleTurnsMax, 0] })
  }

  @Test(
    "a turn that waited, or in which something began or ended, is none of those",
    arguments: [(SpinGuard.shortWaitNs, false), (0, true)])
  func busy(waitedNs: Int64, hasChanged: Bool) {
    var spinGuard = SpinGuard()
    for _ in 1...10 {
      let mustLook = (1..<SpinGuard.idleTurnsMax).map { _ in
        spinGuard.turnEnds(waitedNs: 0, hasChanged: false)
      }
      let mustLookNow = spinGuard.turnEnds(waitedNs: waitedNs, hasChanged: hasChanged)
      #expect(!mustLook.contains(true) && !mustLookNow)
    }
  }
}
