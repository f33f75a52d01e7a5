import Tern

/// What is measured, each on a plain table and on a synced one.
enum BenchCase: String, CaseIterable {
  case insert
  case insertSealed = "insert-sealed"
  case childSealed = "child-sealed"
  case update
  case updateSealed = "update-sealed"
  case single
  case singleSealed = "single-sealed"
  case singleWrite = "single-write"
  case mergeNew = "merge-new"
  case mergeChanged = "merge-changed"
  case mergeRepeated = "merge-repeated"

  /// The ratio to the plain table that the design aims at.
  var aim: Double? {
    switch self {
    case .insert: 1.55
    case .insertSealed: 2.5
    case .update: 1.65
    case .updateSealed: 2.7
    case .mergeNew: 2.5
    case .mergeRepeated: 0.5
    default: nil
    }
  }

  /// Sets up a database and gives the work that is measured, over every row once.
  func prepare(isSynced: Bool, path: String?, rows: [BenchRow]) throws -> () throws -> Void {
    let subject = try Subject(
      isSynced: isSynced, path: path, rows: rows, tables: self == .childSealed ? .child : .alone)
    switch self {
    case .insert: return { try subject.insert() }
    case .insertSealed, .childSealed: return { try subject.insert(sealing: true) }
    case .update, .updateSealed:
      try subject.insert(sealing: true)
      return { try subject.update(sealing: self == .updateSealed) }
    case .single: return { try subject.insertOneByOne() }
    case .singleSealed: return { try subject.insertOneByOne(sealing: true) }
    case .singleWrite:
      return isSynced
        ? { try subject.insertOneByOneSealedInside() } : { try subject.insertOneByOne() }
    case .mergeNew, .mergeChanged, .mergeRepeated:
      return try isSynced ? prepareMerge(into: subject) : prepareUpsert(into: subject)
    }
  }

  private func prepareUpsert(into subject: Subject) throws -> () throws -> Void {
    if self != .mergeNew { try subject.insert() }
    return { self == .mergeChanged ? try subject.upsertChange() : try subject.upsert() }
  }

  private func prepareMerge(into subject: Subject) throws -> () throws -> Void {
    let author = try Subject(isSynced: true, path: nil, rows: subject.rows, replicaID: 2)
    try author.insert(sealing: true)
    let new = try author.pages()
    if self == .mergeNew { return { try subject.merge(new) } }
    try subject.merge(new)
    if self == .mergeRepeated { return { try subject.merge(new) } }
    try author.update(sealing: true)
    let changed = try author.pages(after: new.count)
    return { try subject.merge(changed) }
  }
}
