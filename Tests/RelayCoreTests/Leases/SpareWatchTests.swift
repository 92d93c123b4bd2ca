import RelayCore
import Testing

@Suite("When a spare relay may take the store, and until when its holder uses it")
struct SpareWatchTests {
  private func time(_ milliseconds: Int64) -> MonotonicTime {
    MonotonicTime(nanoseconds: 1_000_000_000).adding(milliseconds: milliseconds)
  }

  private func seat(_ number: Int64, _ beats: Int64) -> SeatBeats {
    SeatBeats(incarnation: Incarnation(rawValue: number), beats: beats)
  }

  @Test("at once, where nobody has it")
  func free() {
    var watch = SpareWatch()
    let dead = watch.see([], at: time(0))
    #expect(dead == [])
  }

  @Test("once the seat has stood still for the TTL, and not before")
  func dead() {
    var watch = SpareWatch()
    let looks = [0, 500, 2999].map { watch.see([seat(1, 7)], at: time($0)) }
    #expect(looks == [nil, nil, nil])
    let last = watch.see([seat(1, 7)], at: time(3000))
    #expect(last == [seat(1, 7)])
  }

  @Test("never, as long as it beats, however late each beat is seen")
  func alive() {
    var watch = SpareWatch()
    for beat in Int64(0)...20 {
      let look = watch.see([seat(1, beat)], at: time(beat * 2999))
      #expect(look == nil)
    }
  }

  @Test("not while another seat beats beside a dead one")
  func several() {
    var watch = SpareWatch()
    _ = watch.see([seat(1, 7), seat(2, 1)], at: time(0))
    let look = watch.see([seat(1, 7), seat(2, 2)], at: time(4000))
    #expect(look == nil)
  }

  @Test("what was seen before the database could not be reached does not count")
  func unreachable() {
    var watch = SpareWatch()
    _ = watch.see([seat(1, 7)], at: time(0))
    watch.failed()
    let looks = [3500, 6400].map { watch.see([seat(1, 7)], at: time($0)) }
    #expect(looks == [nil, nil])
    let last = watch.see([seat(1, 7)], at: time(6500))
    #expect(last == [seat(1, 7)])
  }

  @Test(
    "a refusal ends it at once if it has never seen the seats, and else after a minute in a row")
  func refused() {
    let limit = LeaseLimits().refusalMs
    var watch = SpareWatch()
    #expect(limit == 60_000)
    let first = watch.bearsRefusal(at: time(0))
    #expect(!first)
    _ = watch.see([seat(1, 7)], at: time(1000))
    let borne = [2000, 30_000, 2000 + limit - 1, 2000 + limit].map {
      watch.bearsRefusal(at: time($0))
    }
    #expect(borne == [true, true, true, false])
    // What comes later is counted anew, and so is how long the seat stands still.
    let look = watch.see([seat(1, 7)], at: time(90_000))
    #expect(look == nil)
    let again = watch.bearsRefusal(at: time(100_000))
    #expect(again)
  }

  @Test("the holder ends its use a margin before anybody may take it, from when it sent a beat")
  func proof() {
    let limits = LeaseLimits()
    var proof = LeaseProof(at: time(0), limits)
    #expect(proof.end == time(limits.ttlMs - limits.marginMs))
    proof.prove(at: time(500))
    proof.prove(at: time(400))
    #expect(proof.end == time(500 + limits.ttlMs - limits.marginMs))
  }
}
