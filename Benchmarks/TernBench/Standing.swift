import GRDB
import Tern

/// A synced table with many rows in a file, and what a few more cost there.
struct Standing {
  let path: String

  enum Case: String, CaseIterable {
    case open
    case insertSealed = "insert-sealed"
    case updateSealed = "update-sealed"
    case deleteSealed = "delete-sealed"
    case singleWrite = "single-write"
    case mergeNew = "merge-new"
    case mergeChanged = "merge-changed"
    case mergeDeleted = "merge-deleted"
    case mergeRepeated = "merge-repeated"
  }

  /// Makes the file, which what is measured then runs on a copy of.
  func make(rows: Int) throws {
    let subject = try Subject(isSynced: true, path: path, rows: [])
    for (index, first) in stride(from: 0, to: rows, by: 10_000).enumerated() {
      var page = subject
      page.rows = BenchRow.make(min(10_000, rows - first), seed: UInt64(index + 100))
      try page.insert(sealing: true)
      // In the log there is no more than what was written since an exchange.
      try page.acknowledge()
    }
    _ = try subject.database.writeWithoutTransaction { try $0.checkpoint(.truncate) }
  }

  /// Sets up the work over so many rows.
  func prepare(_ bench: Case, rows count: Int) throws -> () throws -> Void {
    let rows = BenchRow.make(count, seed: 1)
    switch bench {
    case .open:
      let database = try DatabasePool(path: path)
      return { _ = try Subject.open(database, replicaID: 1) }
    case .insertSealed:
      let subject = try Subject(isSynced: true, path: path, rows: rows)
      return { try subject.insert(sealing: true) }
    case .singleWrite:
      let subject = try Subject(isSynced: true, path: path, rows: rows)
      return { try subject.insertOneByOneSealedInside() }
    case .updateSealed, .deleteSealed:
      let subject = try standing(count)
      return {
        bench == .updateSealed
          ? try subject.update(sealing: true) : try subject.delete(sealing: true)
      }
    case .mergeNew:
      let author = try Subject(isSynced: true, path: nil, rows: rows, replicaID: 2)
      try author.insert(sealing: true)
      let (subject, pages) = (
        try Subject(isSynced: true, path: path, rows: []), try author.pages()
      )
      return { try subject.merge(pages) }
    case .mergeChanged, .mergeDeleted, .mergeRepeated:
      let subject = try standing(count)
      let author = try Subject(isSynced: true, path: nil, rows: subject.rows, replicaID: 2)
      try author.insert(sealing: true)
      let new = try author.pages()
      try subject.merge(new)
      if bench == .mergeRepeated { return { try subject.merge(new) } }
      try bench == .mergeDeleted ? author.delete(sealing: true) : author.update(sealing: true)
      let changed = try author.pages(after: new.count)
      return { try subject.merge(changed) }
    }
  }

  /// With rows from all over the table.
  private func standing(_ count: Int) throws -> Subject {
    var subject = try Subject(isSynced: true, path: path, rows: [])
    subject.rows = try subject.database.read { db in
      let all = try Int.fetchOne(db, sql: "SELECT max(rowid) FROM item")!
      return Array(try BenchRow.fetch(db, every: all / count).prefix(count))
    }
    return subject
  }
}
