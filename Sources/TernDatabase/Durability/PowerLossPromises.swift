import GRDB
import Synchronization

/// The connections of this process on which a commit was promised to survive losing power: nothing
/// that shares one may lower that.
enum PowerLossPromises {
  private static let connections = Mutex<[Connection]>([])

  static func hold(for db: Database) -> Bool {
    let id = ObjectIdentifier(db)
    return connections.withLock { $0.contains { $0.id == id } }
  }

  static func give(for db: Database) {
    let connection = Connection(database: db)
    connections.withLock { connections in
      connections.removeAll { $0.id == nil }
      connections.append(connection)
    }
  }

  /// Unchecked, since what it refers to is compared by its identity and never used.
  private struct Connection: @unchecked Sendable {
    weak var database: Database?

    /// `nil` once it is closed for good; another connection may then have its place in memory.
    var id: ObjectIdentifier? { database.map(ObjectIdentifier.init) }
  }
}
