extension LogImage {
  /// What SQLite would lose by going on with a damaged log, or what is lost.
  package enum Loss: Equatable, CustomStringConvertible {
    /// The first frames, without which nobody knows what else belongs to the log.
    case beginning
    /// So many commits behind damage, which SQLite would drop.
    case commits(Int)
    /// The end, with so many pages as are nowhere else.
    case end(pages: Int)
    /// So many of the last commits with events, of which nothing more is known.
    case latest(commits: Int64)

    /// Why nobody goes on with it.
    package var description: String {
      switch self {
      case .beginning:
        "the beginning of its log is lost, and SQLite would drop all of it, with what was "
          + "acknowledged"
      case .commits(let count):
        "its log is damaged, and SQLite would drop commits that were acknowledged: \(count)"
      case .end(let pages):
        "its log was cut off, or an older one is in its place: the pages written last are missing "
          + "(\(pages)), with what was acknowledged"
      case .latest(let commits):
        "it lacks the last commits that were acknowledged (\(commits)): its log was cut off or "
          + "deleted, or it is an older copy"
      }
    }
  }

  /// What would be lost with a damaged log; nil if it is not damaged.
  package var loss: Loss? {
    guard isDamaged else { return nil }
    if isFrontLost { return .beginning }
    return commitsBehindDamage > 0 ? .commits(commitsBehindDamage) : .end(pages: missingFrames)
  }
}

extension DatabaseImage {
  /// What is lost; nil if nothing is known to be.
  package var loss: LogImage.Loss? {
    logImage.loss ?? (missingCommits > 0 ? .latest(commits: missingCommits) : nil)
  }
}
