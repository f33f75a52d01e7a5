/// Two concurrent writes met, and this rule decided.
public enum ConflictKind: String, Hashable, Sendable, CaseIterable, Codable {
  /// Both wrote one column; the later stayed.
  case lastWriter
  /// Both changed one counter; the differences were added.
  case counter
  /// Both wrote one `.max` or `.min` column; the extreme stayed.
  case extreme
  /// One deleted a row that the other changed; the delete stayed.
  case deleteWins
  /// One deleted a row that the other changed; the change brought it back, or kept it.
  case updateWins
  /// Both inserted a row with the same key; it became one.
  case sameKey
  /// One deleted a row that the other referred to; what refers to it is not shown.
  case parentDeleted
  /// A server's operator banned a replica, and what it had written after that came here by another
  /// way. What stood before stands again.
  case banned
  /// Another operation came under an author's number that is taken: of a copy of a database, or of
  /// a peer that tells one remote this and another that. The first to arrive stayed.
  case sameSequence
}
