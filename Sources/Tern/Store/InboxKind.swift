/// Why something is in the inbox.
///
/// A value that lost is listed where the two writes met. Everything else follows from the state,
/// and is listed on every device with the same operations.
public enum InboxKind: String, Hashable, Sendable, CaseIterable, Codable {
  /// Two devices wrote one column; the later write stands.
  case lastWriter
  /// Two devices inserted a row with the same key; the later insert stands.
  case sameKey
  /// A delete covers changes that it had not seen.
  case deleteWins
  /// A server's operator banned the replica that wrote it.
  case banned
  /// The row is not shown: one that was created earlier has its place in a UNIQUE index.
  case displaced
  /// The row is shown as one with another, which has its place in a UNIQUE index.
  case folded
  /// The row is not shown: one that it refers to is deleted.
  case orphaned
  /// The row is not shown: one that it refers to has not come, or is not shown itself.
  case parentMissing
  /// The row is shown without the deleted one that it refers to.
  case veiled
  /// The row is not shown: CHECK, NOT NULL or another constraint of its table refuses it.
  case refused
  /// Changes of the row came before its insert.
  case incomplete
  /// The row is shown still, and is to go: its table refuses to let it go, since an expression of
  /// the app's fails, in an index say.
  case removal

  /// Of values that lost, which are stored.
  package static let ofLosses: Set<InboxKind> = [.lastWriter, .sameKey, .deleteWins, .banned]
}

extension HeldReason {
  /// Kinds of rows that are held, in the words of the inbox.
  static let byKind = Dictionary(
    uniqueKeysWithValues: allCases.compactMap { reason in reason.kind.map { ($0, reason) } })

  /// For people.
  var word: String { kind?.rawValue ?? rawValue }

  /// `nil` for a deleted row.
  var kind: InboxKind? {
    switch self {
    case .constraint: .refused
    case .parent: .parentMissing
    case .orphaned: .orphaned
    case .unique: .displaced
    case .folded: .folded
    case .veiled: .veiled
    case .incomplete: .incomplete
    case .removal: .removal
    case .deleted: nil
    }
  }
}
