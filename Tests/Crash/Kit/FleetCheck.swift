import Foundation
import GRDB
import Tern
import TernTesting

/// Looks into the files of a fleet whose processes have ended.
struct FleetCheck {
  let folder: String
  let devices: [String]
  /// Of the newest app among them.
  let migrations: Int

  func violations(_ model: Model) throws -> (violations: [String], operations: Int) {
    var violations: [String] = []
    var replicas: [(name: String, replica: Replica)] = try devices.map { name in
      ("device \(name)", try open(DatabaseQueue(path: "\(folder)/\(name)")))
    }
    let operations = try serverOperations(&violations)
    replicas.append(("a replica made of the server's operations alone", try fresh(operations)))

    let vector = try replicas[0].replica.store.versionVector()
    let state = try replicas[0].replica.store.canonicalState()
    for (name, replica) in replicas {
      violations += try replica.database.read { db in
        try model.violations(in: db).map { "\(name): \($0)" }
          + DatabaseDiagnosis(db).findings.map { "\(name): \($0)" }
      }
      if try replica.store.counts().quarantined > 0 {
        violations.append("\(name) quarantines rows")
      }
      if try replica.store.versionVector() != vector {
        violations.append("\(name) has other operations than \(replicas[0].name)")
      }
      if try replica.store.canonicalState() != state {
        violations.append("\(name) has another state than \(replicas[0].name)")
      }
    }
    return (violations, operations.count)
  }

  private func open(_ database: DatabaseQueue) throws -> Replica {
    var generator = SeededGenerator(seed: 1)
    return try Replica.openBlocking(
      database, schema: Library.schema(migrations), migrator: Library.migrator(migrations),
      makeID: { ReplicaID(using: &generator) })
  }

  private func fresh(_ operations: [SyncOperation]) throws -> Replica {
    let replica = try open(DatabaseQueue())
    let cursor = RemoteCursor(rawValue: "all")
    _ = try replica.store.merge(
      PulledPage(operations: operations, cursor: cursor, hasMore: false, now: nil),
      from: RemotePlace(remoteID: "file", epoch: "", cursor: cursor))
    return replica
  }

  /// The space's operations in its order: positions without a gap, and each author's sequence
  /// numbers without a gap or a repetition.
  private func serverOperations(_ violations: inout [String]) throws -> [SyncOperation] {
    let rows = try DatabaseQueue(path: folder + "/server").read {
      try Row.fetchAll($0, sql: "SELECT position, bytes FROM operation ORDER BY position")
    }
    var heads = VersionVector()
    return try rows.enumerated().map { index, row in
      let operation = try SyncOperation(bytes: Array(row["bytes"] as Data))
      let envelope = operation.envelope
      if row["position"] != index + 1 {
        violations.append("the server's position \(index + 1) is missing")
      }
      if envelope.sequence != heads[envelope.replica] + 1 {
        violations.append(
          "the server's position \(index + 1) is \(envelope.replica)'s \(envelope.sequence), "
            + "after its \(heads[envelope.replica])")
      }
      heads[envelope.replica] = envelope.sequence
      return operation
    }
  }
}
