import RelayCore
import Testing

/// A keeper whose calls may stand within expectations.
private final class Bench {
  private var keeper = TokenKeeper()

  func takeFetch() -> Bool { keeper.takeFetch() }
  func admit(_ serial: Serial, at now: MonotonicTime) -> TokenKeeper.Admission {
    keeper.admit(serial, at: now)
  }
  func withdraw(_ isMeant: (Serial) -> Bool) { keeper.withdraw(isMeant) }
  func granted(lifetimeMs: Int64?, at now: MonotonicTime) -> (token: Int, attempts: [Serial]) {
    keeper.granted(lifetimeMs: lifetimeMs, at: now)
  }
  func failed(
    _ reason: TokenKeeper.Failure, retryAfterMs: Int64? = nil, at now: MonotonicTime
  ) -> [Serial] {
    keeper.failed(reason, retryAfterMs: retryAfterMs, at: now)
  }
  func askAnew() { keeper.askAnew() }
  func accepted(token: Int, beganAt: MonotonicTime) {
    keeper.accepted(token: token, beganAt: beganAt)
  }
  func rejected(
    _ serial: Serial, token: Int, at now: MonotonicTime
  ) -> TokenKeeper.Rejection {
    keeper.rejected(serial, token: token, at: now)
  }
  func rejectedAgain(at now: MonotonicTime) { keeper.rejectedAgain(at: now) }
}

@Suite("When an access token is fetched")
struct TokenKeeperTests {
  private func at(_ milliseconds: Int64) -> MonotonicTime {
    MonotonicTime(nanoseconds: 5_000_000_000).adding(milliseconds: milliseconds)
  }

  private let outage = TokenKeeper.Failure(isRefusal: false, reason: "503")

  /// A keeper whose first token was fetched at 0 and lasts for so long.
  private func bench(lifetimeMs: Int64) -> Bench {
    let keeper = Bench()
    #expect(keeper.admit(1, at: at(0)) == .wait)
    #expect(keeper.takeFetch())
    #expect(keeper.granted(lifetimeMs: lifetimeMs, at: at(0)) == (1, [1]))
    return keeper
  }

  @Test("who asks for it has the next attempt fetch one, however short ago the last fetch failed")
  func askedAnew() {
    let keeper = Bench()
    #expect(keeper.admit(1, at: at(0)) == .wait && keeper.takeFetch())
    #expect(keeper.failed(outage, retryAfterMs: 60_000, at: at(0)) == [1])
    #expect(keeper.admit(2, at: at(1)) == .fail(outage) && !keeper.takeFetch())
    keeper.askAnew()
    #expect(!keeper.takeFetch())
    #expect(keeper.admit(3, at: at(2)) == .wait && keeper.takeFetch())
  }

  @Test("nothing is fetched before an attempt needs it, and then once for all that wait, in order")
  func once() {
    let keeper = Bench()
    #expect(!keeper.takeFetch())
    for serial in [7, 3, 5] as [Serial] { #expect(keeper.admit(serial, at: at(0)) == .wait) }
    #expect(keeper.takeFetch() && !keeper.takeFetch())
    keeper.withdraw { $0 == 3 }
    #expect(keeper.granted(lifetimeMs: 100_000, at: at(10)) == (1, [7, 5]))
    #expect(keeper.admit(9, at: at(20)) == .send(token: 1))
    #expect(!keeper.takeFetch())
  }

  @Test(
    "another one is fetched ahead of the end, while the old one is used; after the end all wait",
    arguments: [
      (Int64(3_600_000), Int64(3_540_000), Int64(3_595_000)), (2000, 1500, 1800),
    ])
  func renewal(lifetimeMs: Int64, renewMs: Int64, endMs: Int64) {
    let keeper = bench(lifetimeMs: lifetimeMs)
    #expect(keeper.admit(2, at: at(renewMs - 1)) == .send(token: 1))
    #expect(!keeper.takeFetch())
    #expect(keeper.admit(3, at: at(renewMs)) == .send(token: 1))
    #expect(keeper.takeFetch())
    #expect(keeper.admit(4, at: at(endMs - 1)) == .send(token: 1))
    #expect(!keeper.takeFetch(), "one is under way")
    #expect(keeper.admit(5, at: at(endMs)) == .wait)
    #expect(keeper.granted(lifetimeMs: lifetimeMs, at: at(endMs + 5)) == (2, [5]))
  }

  @Test("a lifetime counts from the beginning of the fetch, and one that has passed serves once")
  func short() {
    let keeper = Bench()
    _ = keeper.admit(1, at: at(0))
    #expect(keeper.takeFetch())
    #expect(keeper.granted(lifetimeMs: 2000, at: at(5000)) == (1, [1]))
    #expect(keeper.admit(2, at: at(5001)) == .wait)
    #expect(keeper.takeFetch())
    #expect(keeper.granted(lifetimeMs: -5, at: at(5002)) == (2, [2]))
    #expect(keeper.admit(3, at: at(5002)) == .wait)
    #expect(keeper.takeFetch())
    #expect(keeper.granted(lifetimeMs: nil, at: at(5003)) == (3, [3]))
    #expect(keeper.admit(4, at: at(5002 + 224_000)) == .send(token: 3))
    #expect(!keeper.takeFetch())
  }

  @Test("a fetch that fails fails all that wait, and the next one waits as the server asks")
  func failure() {
    let keeper = Bench()
    _ = keeper.admit(1, at: at(0))
    _ = keeper.admit(2, at: at(0))
    #expect(keeper.takeFetch())
    #expect(keeper.failed(outage, at: at(0)) == [1, 2])
    #expect(keeper.admit(3, at: at(999)) == .fail(outage))
    #expect(!keeper.takeFetch())
    #expect(keeper.admit(4, at: at(1000)) == .wait)
    #expect(keeper.takeFetch())
    #expect(keeper.failed(outage, retryAfterMs: 30_000, at: at(1000)) == [4])
    #expect(keeper.admit(5, at: at(30_999)) == .fail(outage))
    #expect(keeper.admit(6, at: at(31_000)) == .wait)
    #expect(keeper.failed(outage, retryAfterMs: .max, at: at(31_000)) == [6])
    #expect(keeper.admit(7, at: at(91_000)) == .wait, "nobody is left alone for longer than that")
  }

  @Test("a renewal that fails leaves the old token in use to its end")
  func failedRenewal() {
    let keeper = bench(lifetimeMs: 3_600_000)
    _ = keeper.admit(2, at: at(3_550_000))
    #expect(keeper.takeFetch())
    #expect(keeper.failed(outage, at: at(3_550_100)) == [])
    #expect(keeper.admit(3, at: at(3_550_200)) == .send(token: 1))
    #expect(!keeper.takeFetch(), "not at once")
    #expect(keeper.admit(4, at: at(3_552_000)) == .send(token: 1))
    #expect(keeper.takeFetch())
  }

  @Test("a token that is not accepted any more is thrown away once, however many attempts say so")
  func rejected() {
    let keeper = bench(lifetimeMs: 3_600_000)
    keeper.accepted(token: 1, beganAt: at(0))
    #expect(keeper.rejected(1, token: 1, at: at(100)) == .another(.wait))
    #expect(keeper.takeFetch())
    #expect(keeper.rejected(2, token: 1, at: at(101)) == .another(.wait))
    #expect(!keeper.takeFetch())
    #expect(keeper.granted(lifetimeMs: 3_600_000, at: at(102)) == (2, [1, 2]))
    let old = keeper.rejected(3, token: 1, at: at(103))
    #expect(old == .another(.send(token: 2)), "sent with the old one")
    keeper.accepted(token: 2, beganAt: at(103))
    let good = keeper.rejected(4, token: 2, at: at(104))
    #expect(good == .another(.wait), "this one was good before")
  }

  @Test("an accepted token serves others while another one is fetched for a 401 under it")
  func replaced() {
    let keeper = bench(lifetimeMs: 3_600_000)
    keeper.accepted(token: 1, beganAt: at(0))
    #expect(keeper.rejected(1, token: 1, at: at(100)) == .another(.wait))
    #expect(keeper.takeFetch())
    #expect(keeper.admit(2, at: at(101)) == .send(token: 1))
    #expect(keeper.failed(.init(isRefusal: false, reason: "down"), at: at(102)) == [1])
    #expect(keeper.admit(3, at: at(103)) == .send(token: 1))
    #expect(keeper.rejected(4, token: 1, at: at(104)) == .unclear, "no other is to be had just now")
    #expect(!keeper.takeFetch())
  }

  @Test("a 401 that a fresh token did not change costs no token for each that is alike")
  func wasted() {
    let keeper = bench(lifetimeMs: 3_600_000)
    keeper.accepted(token: 1, beganAt: at(0))
    #expect(keeper.rejected(1, token: 1, at: at(100)) == .another(.wait))
    #expect(keeper.takeFetch())
    #expect(keeper.granted(lifetimeMs: 3_600_000, at: at(101)) == (2, [1]))
    keeper.rejectedAgain(at: at(102))
    keeper.accepted(token: 2, beganAt: at(103))
    #expect(keeper.rejected(2, token: 2, at: at(104)) == .unclear)
    #expect(keeper.rejected(2, token: 2, at: at(1104)) == .unclear, "nothing shows whose it is")
    #expect(!keeper.takeFetch())
    keeper.accepted(token: 2, beganAt: at(1100))
    #expect(keeper.rejected(2, token: 2, at: at(2104)) == .unclear, "that one began before")
    keeper.accepted(token: 2, beganAt: at(2105))
    #expect(keeper.rejected(2, token: 2, at: at(3104)) == .stands)
    #expect(keeper.rejected(3, token: 2, at: at(10_101)) == .unclear)
    #expect(keeper.rejected(3, token: 2, at: at(10_102)) == .another(.wait), "perhaps it has ended")
    #expect(keeper.takeFetch())
  }

  @Test("an upstream that accepts no token has one fetched now and then, and its answers stand")
  func neverAccepted() {
    let keeper = bench(lifetimeMs: 3_600_000)
    #expect(keeper.rejected(1, token: 1, at: at(0)) == .another(.wait))
    #expect(keeper.granted(lifetimeMs: 3_600_000, at: at(1)) == (2, [1]))
    #expect(keeper.rejected(2, token: 2, at: at(2)) == .stands)
    keeper.accepted(token: 1, beganAt: at(3))
    #expect(keeper.rejected(3, token: 2, at: at(9999)) == .stands, "that was about another token")
    #expect(keeper.rejected(4, token: 2, at: at(10_000)) == .another(.wait))
  }

  @Test("random events lose no attempt, and never begin two fetches at once", arguments: 1...200)
  func random(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let keeper = Bench()
    var (now, isFetching, next): (Int64, Bool, Serial) = (0, false, 0)
    var (waiting, latest): (Set<Serial>, Int) = ([], 0)
    for _ in 0..<200 {
      now += Int64.random(in: 0...700, using: &random)
      switch Int.random(in: 0..<6, using: &random) {
      case 0, 1:
        next += 1
        switch keeper.admit(next, at: at(now)) {
        case .send(let number): #expect(number == latest)
        case .wait: waiting.insert(next)
        case .fail: #expect(!isFetching)
        }
      case 2 where isFetching:
        let granted = keeper.granted(
          lifetimeMs: Int64.random(in: 0...4000, using: &random), at: at(now))
        #expect(granted.token == latest + 1 && Set(granted.attempts) == waiting)
        (waiting, latest, isFetching) = ([], granted.token, false)
      case 3 where isFetching:
        #expect(Set(keeper.failed(outage, at: at(now))) == waiting)
        (waiting, isFetching) = ([], false)
      case 4 where latest > 0:
        next += 1
        if keeper.rejected(next, token: latest, at: at(now)) == .another(.wait) {
          waiting.insert(next)
        } else if Bool.random(using: &random) {
          keeper.rejectedAgain(at: at(now))
        }
      case 5: keeper.accepted(token: latest, beganAt: at(now))
      default: break
      }
      if keeper.takeFetch() {
        #expect(!isFetching)
        isFetching = true
      }
      #expect(waiting.isEmpty || isFetching, "whoever waits is let go some time")
    }
  }
}
