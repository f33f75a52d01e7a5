/// What becomes of rows that do not sync and whose parent a merge deleted, where their foreign key
/// says `NO ACTION` or `RESTRICT`. It has no other answer then: the delete was made elsewhere, and
/// stands.
public enum UnsyncedChildRule: Hashable, Sendable {
  /// They stay, and refer to a row that is not there.
  case leave
  /// They are deleted, as `ON DELETE CASCADE` says.
  case delete
  /// Their reference becomes NULL, as `ON DELETE SET NULL` says.
  case setNull
}
