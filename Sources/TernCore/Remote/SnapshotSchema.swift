/// The schema that a snapshot was cut under, as far as a remote needs it to compare the snapshot
/// with what came before: which version, and what is the same under another name.
public struct SnapshotSchema: Codable, Hashable, Sendable {
  /// A table that was renamed, or columns of which were.
  package struct Table: Codable, Hashable, Sendable {
    /// Its name in the snapshot.
    package var name: String
    /// Its names before.
    package var formerNames: [String]
    /// By column of the snapshot, its names before.
    package var formerColumns: [String: [String]]

    package init(name: String, formerNames: [String], formerColumns: [String: [String]]) {
      self.name = name
      self.formerNames = formerNames
      self.formerColumns = formerColumns
    }
  }

  package var version: UInt32
  /// Only tables in which something has another name than before.
  package var renamed: [Table]

  package init(version: UInt32, renamed: [Table] = []) {
    self.version = version
    self.renamed = renamed
  }
}
