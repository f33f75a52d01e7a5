#if Server
import Foundation
import Tern
import TernCore

/// An inspection as text for people.
struct InspectReport {
  private var lines: [String] = []

  var text: String { lines.map { $0.shown() }.joined(separator: "\n") }

  init(_ file: DatabaseFileInspection) {
    lines = ["file      \(file.path)", "size      \(Self.text(file.sizes))"]
    for replica in file.replicas { append(replica) }
  }

  init(_ server: InspectServerFile) {
    lines = [
      "file      \(server.path): a server's data, format \(server.format)",
      "size      \(Self.text(server.sizes))", "epoch     \(server.epoch)",
      "tokens    \(server.tokens)",
    ]
    append(
      "spaces", ["name", "position", "trimmed", "bytes", "tokens"],
      server.spaces.map {
        [
          $0.name, "\($0.position)", "\($0.trimmed)", Self.bytes($0.bytes), "\($0.tokens)",
        ]
      })
    append(
      "snapshots", ["space", "up to", "parts", "bytes", ""],
      server.spaces.flatMap { space in
        space.snapshots.map {
          [
            space.name, "\($0.position)", "\($0.parts)", Self.bytes($0.bytes),
            $0.isComplete ? "" : $0.isRefused ? "refused" : "being uploaded",
          ]
        }
      })
    append(
      "authors", ["space", "replica", "sequence"],
      server.spaces.flatMap { space in
        space.authors.map { [space.name, $0.id, "\($0.sequence)"] }
      })
  }

  private mutating func append(_ replica: ReplicaInspection) {
    lines += [
      "", "replica   \(replica.name)  \(Self.text(replica.id))",
      "schema    version \(replica.schemaVersion), Tern's tables format \(replica.format)",
      "clock     last time \(Self.time(replica.lastTimeMilliseconds)), corrected by "
        + "\(replica.clockCorrectionMilliseconds) ms",
      "log       \(replica.log.operations) operations, \(Self.bytes(replica.log.bytes))",
      "notes     \(replica.unsealedChanges) waiting for a seal",
      "held      \(Self.text(replica.quarantined))",
      "waiting   \(replica.pending.isEmpty ? "0 operations" : "\(replica.pending)")",
      "conflicts \(Self.text(replica.conflicts))",
    ]
    append(
      "operations that wait", ["replica", "sequence", "for", "because"],
      replica.pendingOperations.map {
        [Self.text($0.replica), "\($0.sequence)", $0.reason.rawValue, $0.detail]
      })
    append(
      "copies of a database", ["replica", "from", "another one at"],
      replica.forks.map { [Self.text($0.replica), "\($0.sequence)", $0.remote] })
    append(
      "tables", ["name", "alive", "deleted", "held", "notes", "too large", ""],
      replica.tables.map {
        [
          $0.name, "\($0.aliveRows)", "\($0.deadRows)", Self.text($0.quarantined),
          "\($0.unsealedChanges)", "\($0.largeRows)", $0.isSynced ? "" : "no longer synced",
        ]
      })
    append(
      "authors", ["replica", "in the log", "merged", ""],
      replica.authors.map {
        [
          Self.text($0.id), "\($0.stored)", "\($0.merged)", $0.id == replica.id ? "this one" : "",
        ]
      })
    append(
      "remotes", ["space", "epoch", "cursor", "has of this one"],
      replica.remotes.map {
        [$0.id, $0.epoch, $0.cursor ?? "at the beginning", "up to \($0.accepted)"]
      })
    append(
      "storage", ["table", "bytes"], replica.storage.map { [$0.table, Self.bytes($0.bytes)] })
  }

  /// A heading and columns as wide as their longest cell.
  private mutating func append(_ title: String, _ header: [String], _ rows: [[String]]) {
    if rows.isEmpty { return }
    let table = [header] + rows.map { $0.map { $0.shown() } }
    let widths = header.indices.map { column in table.map { $0[column].count }.max() ?? 0 }
    lines += ["", title]
    for row in table {
      let cells = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
      let line = "  " + cells.joined(separator: "  ")
      lines.append(String(line.reversed().drop { $0 == " " }.reversed()))
    }
  }

  // MARK: - Values

  private static func text(_ id: ReplicaID?) -> String { id?.description ?? "damaged" }

  private static func text(_ sizes: FileSizes) -> String {
    "\(bytes(sizes.database)), write-ahead log \(bytes(sizes.writeAheadLog))"
  }

  private static func text(_ counts: [String: Int]) -> String {
    if counts.isEmpty { return "none" }
    return counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
      .joined(separator: ", ")
  }

  /// Whole bytes, in groups of three digits.
  private static func bytes(_ count: Int64) -> String {
    var digits = String(count)
    for offset in stride(from: digits.count - 3, to: 0, by: -3) {
      digits.insert(" ", at: digits.index(digits.startIndex, offsetBy: offset))
    }
    return digits + " B"
  }

  private static func time(_ milliseconds: Int64) -> String {
    if milliseconds == 0 { return "none" }
    guard (0...HybridTime.maximumMilliseconds).contains(milliseconds) else {
      return "\(milliseconds) ms, which is no date"
    }
    return Date(timeIntervalSince1970: Double(milliseconds) / 1000).formatted(.iso8601)
  }
}
#endif
