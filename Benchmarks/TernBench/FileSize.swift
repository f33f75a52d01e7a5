import Foundation
import GRDB
import Tern

/// What a synced table takes in its file beside a plain one, once everything is acknowledged and the
/// log trimmed.
struct FileSize {
  let folder: String
  let rows: Int

  /// In pages of 4 KiB.
  private struct Size {
    /// With those that wait to be used again: SQLite gives none back unless the app has it vacuum.
    var file: Int
    var used: Int
  }

  private enum Exchange: String, CaseIterable {
    /// Acknowledged after every transaction of 1,000 rows.
    case each
    /// Everything at the end: the log had all of it.
    case once
  }

  func run() throws {
    for isUpdated in [false, true] {
      let plain = try size("plain-\(isUpdated)", isUpdated, nil)
      for exchange in Exchange.allCases {
        let tern = try size("tern-\(isUpdated)-\(exchange)", isUpdated, exchange)
        print(
          isUpdated ? "updated" : "inserted", exchange, plain.used, tern.used, tern.file,
          ratio(tern.used, plain.used), ratio(tern.file, plain.file), separator: "\t")
      }
    }
  }

  /// - Parameter isUpdated: whether every row had another column written later.
  private func size(_ name: String, _ isUpdated: Bool, _ exchange: Exchange?) throws -> Size {
    var subject = try Subject(
      isSynced: exchange != nil, path: "\(folder)/\(name).sqlite", rows: [])
    let all = BenchRow.make(rows)
    for isUpdate in isUpdated ? [false, true] : [false] {
      for start in stride(from: 0, to: rows, by: Subject.rowsPerTransaction) {
        subject.rows = Array(all[start..<min(start + Subject.rowsPerTransaction, rows)])
        if isUpdate {
          try subject.update(sealing: true)
        } else {
          try subject.insert(sealing: true)
        }
        if exchange == .each { try subject.acknowledge() }
      }
    }
    try subject.acknowledge()
    return try subject.database.read { db in
      let file = try Int.fetchOne(db, sql: "PRAGMA page_count")!
      return Size(file: file, used: try file - Int.fetchOne(db, sql: "PRAGMA freelist_count")!)
    }
  }

  private func ratio(_ one: Int, _ other: Int) -> String {
    String(format: "%.2f", Double(one) / Double(other))
  }
}
