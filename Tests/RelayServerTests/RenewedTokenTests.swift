import Cryptography
import RelayCore
import Testing

@testable import RelayServer

@Suite("A renewed token")
struct RenewedTokenTests {
  private static let until = Fixture.now.adding(milliseconds: 10 * Fixture.day)

  private static func end(_ days: Int64) -> WallTime {
    Fixture.now.adding(milliseconds: days * Fixture.day)
  }

  /// A token for a day, and its secret.
  private func token() throws -> (record: TokenRecord, secret: [UInt8]) {
    let made = AccessToken.makeStored()
    guard case .stored(_, let secret)? = AccessToken(parsing: Array(made.text.utf8)[...]) else {
      throw Problem.internalError()
    }
    let record = TokenRecord(
      id: made.id, grant: .client("till-1"), digest: made.digest, createdAt: Fixture.now,
      expiresAt: Self.end(1),
      renewal: TokenRecord.Renewal(until: Self.until, spanMs: Fixture.day))
    return (record, secret)
  }

  /// The next record, and its secret.
  private func renewed(
    _ token: (record: TokenRecord, secret: [UInt8]), until end: WallTime
  ) -> (record: TokenRecord, secret: [UInt8]) {
    let seed = SecureRandom.bytes(32)
    let secret = AccessToken.nextSecret(of: token.secret, id: token.record.id, seed: seed)
    let record = token.record.renewed(
      until: end, digest: SHA256.digest(of: secret), seed: seed, at: Fixture.now)
    return (record, secret)
  }

  private func access(_ tokens: [TokenRecord]) -> Access {
    Access(AccessConfiguration(), certificatesName: false, tokens: tokens)
  }

  @Test("is good with its last two secrets, each until its own end")
  func secrets() throws {
    let first = try token()
    let second = renewed(first, until: Self.end(2))
    let third = renewed(second, until: Self.end(3))
    let access = access([first.record])
    func client(_ secret: [UInt8], _ days: Int64 = 0) -> Caller? {
      access.caller(by: .stored(id: first.record.id, secret: secret), at: Self.end(days))
    }
    #expect(client(second.secret) == nil)
    access.renewed(second.record)
    #expect(client(first.secret)?.expiresAt == Self.end(1))
    #expect(client(second.secret)?.expiresAt == Self.end(2))
    #expect(client(first.secret)?.renewableUntil == Self.until)
    #expect(client(first.secret, 1) == nil && client(second.secret, 1)?.client == "till-1")
    access.renewed(third.record)
    #expect(client(first.secret) == nil)
    #expect(client(second.secret) != nil && client(third.secret) != nil)
    #expect(client(second.secret, 2) == nil && client(third.secret, 2) != nil)
    access.deleted(first.record.id)
    #expect(client(second.secret) == nil && client(third.secret) == nil)
  }

  @Test("has one secret in the place of another, which only who has that one is told")
  func next() throws {
    let first = try token()
    let second = renewed(first, until: Self.end(2))
    let match = try #require(TokenMatch(second.record, first.secret, at: Fixture.now))
    #expect(match.isFormer && match.nextSecret(of: first.secret) == second.secret)
    let last = try #require(TokenMatch(second.record, second.secret, at: Fixture.now))
    #expect(!last.isFormer && last.nextSecret(of: second.secret) == nil)
    // Another seed makes another secret: the former one alone is not enough.
    #expect(renewed(first, until: Self.end(2)).secret != second.secret)
    #expect(TokenMatch(second.record, [UInt8](repeating: 0, count: 32), at: Fixture.now) == nil)
  }

  @Test("cannot be renewed any further once it ends at the limit, and says so")
  func limit() throws {
    let first = try token()
    let second = renewed(first, until: Self.until)
    let access = access([second.record])
    let id = first.record.id
    let former = access.caller(by: .stored(id: id, secret: first.secret), at: Fixture.now)
    let last = access.caller(by: .stored(id: id, secret: second.secret), at: Fixture.now)
    #expect(former?.renewableUntil == Self.until)
    #expect(last?.expiresAt == Self.until && last?.renewableUntil == nil)
  }

  @Test("ends what was begun with a secret before the last two, and at its end what with these")
  func watches() throws {
    let first = try token()
    let second = renewed(first, until: Self.end(2))
    let third = renewed(second, until: Self.end(3))
    let access = access([first.record])
    var kept: [AccessWatch?] = []
    func watched(_ secret: [UInt8]) throws -> (Caller, Counter) {
      let caller = try #require(
        access.caller(by: .stored(id: first.record.id, secret: secret), at: Fixture.now))
      let count = Counter()
      kept.append(access.watch(caller, at: Fixture.now) { count.add() })
      return (caller, count)
    }
    let begun = try watched(first.secret)
    access.renewed(second.record)
    let other = try watched(second.secret)
    #expect(begun.1.value == 0 && access.isGood(begun.0, at: Fixture.now))
    access.renewed(third.record)
    #expect(begun.1.value == 1 && !access.isGood(begun.0, at: Fixture.now))
    let last = try watched(third.secret)
    #expect(other.1.value == 0 && access.isGood(other.0, at: Fixture.now))
    access.deleted(first.record.id)
    #expect([begun, other, last].map(\.1.value) == [1, 1, 1])
    #expect(!access.isGood(other.0, at: Fixture.now) && !access.isGood(last.0, at: Fixture.now))
    #expect(kept.count == 3)
  }

  @Test("is not brought back by a renewal that comes late")
  func late() throws {
    let first = try token()
    let second = renewed(first, until: Self.end(2))
    let third = renewed(second, until: Self.end(3))
    let access = access([first.record])
    func isGood(_ secret: [UInt8]) -> Bool {
      access.caller(by: .stored(id: first.record.id, secret: secret), at: Fixture.now) != nil
    }
    access.renewed(third.record)
    access.renewed(second.record)
    #expect(isGood(third.secret) && !isGood(first.secret))
    access.deleted(first.record.id)
    access.renewed(third.record)
    #expect(!isGood(third.secret))
  }

  @Test("may be so by the terms that it was made on, and only where these make sense")
  func terms() throws {
    func terms(_ text: String) throws -> TokenTerms { try TokenTerms(Array(text.utf8)) }
    let end = #""expiresAt": "2026-03-08T12:00:00Z""#
    let good = try terms(
      #"{"client": "a", \#(end), "renewableUntil": "2027-03-01T12:00:00Z"}"#)
    let renewal = try #require(try good.renewal(at: Fixture.now))
    #expect(renewal.spanMs == 7 * Fixture.day && renewal.last == nil)
    #expect(renewal.until == Self.end(365))
    #expect(try terms(#"{"client": "a", \#(end)}"#).renewal(at: Fixture.now) == nil)
    for (text, kind, field) in [
      (
        #"{"role": "read", \#(end), "renewableUntil": "2027-03-01T12:00:00Z"}"#,
        .invalidField, "/renewableUntil"
      ),
      (
        #"{"client": "a", "renewableUntil": "2027-03-01T12:00:00Z"}"#,
        .missingField, "/expiresAt"
      ),
      (
        #"{"client": "a", \#(end), "renewableUntil": "2026-03-08T12:00:00Z"}"#,
        .invalidField, "/renewableUntil"
      ),
      (#"{"client": "a", \#(end), "renewableUntil": 5}"#, .invalidField, "/renewableUntil"),
    ] as [(String, ProblemKind, String)] {
      let problem = #expect(throws: Problem.self) { try terms(text) }
      #expect(problem?.kind == kind && problem?.field == field, "\(text)")
    }
    let past = #expect(throws: Problem.self) { try good.renewal(at: Self.end(7)) }
    #expect(past?.field == "/expiresAt")
  }
}
