#if Server
/// A space that was removed, and rows of which are still there: until they are gone it has a name
/// that nobody can give a space.
package enum RemovedSpace {
  private static let prefix = ".removed-"

  /// Which rows of the table `space` are removed spaces, in SQL. The end is what sorts first behind
  /// all names with the prefix, so that an index helps.
  package static let condition = "(name >= '.removed-' AND name < '.removed.')"

  /// What the space of an id is called from its removal on.
  static func name(of id: Int64) -> String { "\(prefix)\(id)" }

  /// Whether a space's stored name is that of a removed one.
  static func has(name: String) -> Bool { name.hasPrefix(prefix) }
}
#endif
