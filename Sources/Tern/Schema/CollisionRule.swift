/// What a merge does with a row that a UNIQUE index keeps out, because a row that was created
/// earlier holds the same.
public struct CollisionRule: Hashable, Sendable {
  /// The column that rows are folded by.
  package let pointer: String?

  /// The row leaves its table, and comes back once it collides with none.
  public static let quarantine = CollisionRule(pointer: nil)

  /// The row stays in its table and points to the one that was created earlier: two tags of one
  /// name are one tag.
  ///
  /// - Parameter column: is NULL or the key of that row. It is nullable, has no default and no
  ///   foreign key, stays on this device, and is written by Tern alone. Every UNIQUE index of the
  ///   table, whose primary key is one column, says `WHERE column IS NULL`.
  public static func fold(into column: String) -> CollisionRule {
    CollisionRule(pointer: column)
  }
}
