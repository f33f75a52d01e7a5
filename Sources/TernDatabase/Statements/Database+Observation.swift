import GRDB

extension Database {
  /// Tells observers of writes that went past GRDB, by a ``FastStatement`` or a trigger.
  package func notifyChanges(inTable name: String) throws {
    // GRDB cannot look up, and so not observe, a table with a quote in its name.
    if !name.contains("\"") { try notifyChanges(in: Table(name)) }
  }
}
