import GRDB

/// One thing that a person does to a book: plain GRDB, as if nothing synced.
enum Edit: Sendable {
  case count(Int)
  case rate(Int)
  case retitle(String)
  case confidence(Double)
  case shelve(String)
  case thumbnail(String)
  case add(String)
  case delete

  /// From a command's name and its argument.
  init(_ name: String, _ argument: String?) throws {
    let edit: Edit? =
      switch name {
      case "count": argument.flatMap(Int.init).map(Edit.count)
      case "rate": argument.flatMap(Int.init).map(Edit.rate)
      case "retitle": argument.map(Edit.retitle)
      case "confidence": argument.flatMap(Double.init).map(Edit.confidence)
      case "shelve": argument.map(Edit.shelve)
      case "thumbnail": argument.map(Edit.thumbnail)
      case "add": argument.map(Edit.add)
      case "delete": .delete
      default: throw Usage("there is no command \(name)")
      }
    guard let edit else { throw Usage("\(name) needs another argument") }
    self = edit
  }

  /// - Returns: whether there was anything to do.
  func apply(to key: String, in db: Database) throws -> Bool {
    let book = Book.filter(key: key)
    switch self {
    case .count(let number):
      return try book.updateAll(db, Column("timesScanned") += number) > 0
    case .rate(let rating): return try book.updateAll(db, Column("rating").set(to: rating)) > 0
    case .retitle(let title): return try book.updateAll(db, Column("title").set(to: title)) > 0
    case .confidence(let value):
      return try book.updateAll(db, Column("confidence").set(to: value)) > 0
    case .shelve(let shelf):
      try Shelf(id: shelf, name: "The shelf \(shelf)").insert(db, onConflict: .ignore)
      return try book.updateAll(db, Column("shelf").set(to: shelf)) > 0
    case .thumbnail(let path):
      return try book.updateAll(db, Column("thumbnailPath").set(to: path)) > 0
    case .add(let title):
      guard try book.isEmpty(db) else { return false }
      // In the shelf by hand, so it was scanned once.
      try Book(isbn: key, authors: "", title: title, timesScanned: 1).insert(db)
      return true
    case .delete: return try book.deleteAll(db) > 0
    }
  }
}

extension Edit: CustomStringConvertible {
  /// `verb⇥argument`, the form in which an edit is acknowledged on standard output.
  var description: String {
    switch self {
    case .count(let number): "count\t\(number)"
    case .rate(let rating): "rate\t\(rating)"
    case .retitle(let title): "retitle\t\(title)"
    case .confidence(let value): "confidence\t\(value)"
    case .shelve(let shelf): "shelve\t\(shelf)"
    case .thumbnail(let path): "thumbnail\t\(path)"
    case .add(let title): "add\t\(title)"
    case .delete: "delete\t"
    }
  }
}
