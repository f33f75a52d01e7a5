/// A trigger of the app that does not run for rows that sync brings.
///
/// Nothing is wrong where the trigger is for the app's own writes alone. Split one that also
/// mirrors rows into tables that don't sync: the part that mirrors then runs.
public struct SkippedTrigger: Hashable, Sendable, Codable {
  public var name: String
  /// What it is on.
  public var table: String
  /// Why, as part of a sentence: “it sets “revision” of “book”, which syncs”.
  public var reason: String

  package init(name: String, table: String, reason: String) {
    (self.name, self.table, self.reason) = (name, table, reason)
  }
}

extension SkippedTrigger: CustomStringConvertible {
  public var description: String {
    "trigger “\(name)” on “\(table)” does not run for rows that sync brings: \(reason)"
  }
}

extension AppTriggers {
  var skipped: [SkippedTrigger] {
    unsafe.map {
      SkippedTrigger(
        name: $0.name, table: $0.table, reason: $0.danger ?? "its text can't be read")
    }
  }
}
