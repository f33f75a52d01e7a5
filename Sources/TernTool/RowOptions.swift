#if Server
import ArgumentParser
import Tern

/// What names a row in a file.
struct RowOptions: ParsableArguments {
  @Argument(help: "An app's database with a replica. It may be in use.")
  var file: String

  @Argument(help: "A table that syncs.")
  var table: String

  @Argument(help: "A value for each column of the primary key, in its order; x'…' is a blob.")
  var key: [String]

  @Option(help: "The replica's name, if several replicas of the database know the table.")
  var replica: String?

  @Flag(help: "Print JSON instead of text.")
  var json = false

  func row() throws -> DatabaseFileRow {
    try DatabaseFileRow(path: file, table: table, key: key, replica: replica)
  }
}

extension DatabaseFileRow {
  /// A line for people, where what they see is not all.
  var remark: String? {
    isUnsealed
      ? "The row was written since the last seal. No operation has that write yet."
      : nil
  }
}
#endif
