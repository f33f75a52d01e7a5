import Foundation
import GRDB

/// A database file and the replicas in it.
public struct DatabaseFileInspection: Hashable, Sendable, Codable {
  public var path: String
  public var sizes: FileSizes
  /// By name; never empty.
  public var replicas: [ReplicaInspection]

  /// Reads a file that other processes may be writing to. Blocks: not on the main actor. Cost: one
  /// pass over Tern's own tables.
  ///
  /// - Throws: ``InspectionError``.
  public init(path: String) throws {
    self.path = path
    sizes = FileSizes(path: path)
    replicas = try ReadOnlyFile(path: path).read { try ReplicaReader.all(in: $0, path: path) }
    guard !replicas.isEmpty else { throw InspectionError(.noReplica, path: path) }
  }
}

/// The bytes of a database's files.
public struct FileSizes: Hashable, Sendable, Codable {
  public var database: Int64
  /// Of the write-ahead log; 0 without one.
  public var writeAheadLog: Int64

  package init(path: String) {
    let file = ReadOnlyFile(path: path).path
    (database, writeAheadLog) = (Self.size(file), Self.size(file + "-wal"))
  }

  private static func size(_ path: String) -> Int64 {
    // A file that is gone by now has no size.
    let attributes = try? FileManager.default.attributesOfItem(atPath: path)
    return (attributes?[.size] as? NSNumber)?.int64Value ?? 0
  }
}
