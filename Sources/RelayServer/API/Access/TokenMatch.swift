import Cryptography
import RelayCore

/// A stored token, and which of its secrets was shown.
package struct TokenMatch: Sendable {
  /// The token.
  package let record: TokenRecord
  /// How many times it had been renewed when it got the secret.
  package let number: Int64
  /// When the secret ends; nil for never.
  package let expiresAt: WallTime?

  /// Whether the secret has another one in its place already.
  package var isFormer: Bool { number < record.renewalCount }

  /// Until when a client can go on by renewing it; nil if it cannot.
  var renewableUntil: WallTime? {
    guard let until = record.renewal?.until, let expiresAt, expiresAt < until else { return nil }
    return until
  }

  /// Compares a secret with the token's; nil if it is none of them, or has ended.
  package init?(_ record: TokenRecord, _ secret: [UInt8], at now: WallTime) {
    let digest = SHA256.digest(of: secret)
    if ConstantTime.equals(digest, record.digest) {
      number = record.renewalCount
      expiresAt = record.expiresAt
    } else if let last = record.renewal?.last, ConstantTime.equals(digest, last.formerDigest) {
      number = last.number - 1
      expiresAt = last.formerExpiresAt
    } else {
      return nil
    }
    if let expiresAt, expiresAt <= now { return nil }
    self.record = record
  }

  /// The secret that has come in the place of this one, which has to be `secret`; nil if none has.
  package func nextSecret(of secret: [UInt8]) -> [UInt8]? {
    guard isFormer, let last = record.renewal?.last else { return nil }
    return AccessToken.nextSecret(of: secret, id: record.id, seed: last.seed)
  }
}

extension TokenRecord {
  /// Its secrets, by how many times it had been renewed when it got each.
  var secretNumbers: ClosedRange<Int64> { max(renewalCount - 1, 0)...renewalCount }
}

extension AccessToken {
  /// The secret that comes in the place of another one.
  ///
  /// Made of the other one, so that whoever shows that again gets the same, without its being kept;
  /// and of a seed that the relay draws, so that nobody else knows it who has the other one.
  package static func nextSecret(of secret: [UInt8], id: String, seed: [UInt8]) -> [UInt8] {
    HMACSHA256.code(of: Array("waystation renewed token 1\n\(id)\n".utf8) + seed, key: secret)
  }
}
