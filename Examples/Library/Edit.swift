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
    let edit = try Self.parse(name, argument)
    guard let edit else { throw Usage("\(name) needs another argument") }
    self = edit
  }

  private static func parse(_ name: String, _ argument: String?) throws -> Edit? {
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
  }

  /// - Returns: whether there was anything to do: a value that stands already is no edit.
  func apply(to key: String, in db: Database) throws -> Bool {
    let book = Book.filter(key: key)
    func set(_ name: String, to value: some DatabaseValueConvertible) throws -> Bool {
      let column = Column(name)
      return try book.filter(column !== value).updateAll(db, column.set(to: value)) > 0
    }
    switch self {
    case .count(let number):
      let scans = Column("timesScanned")
      return try book.updateAll(db, scans.set(to: scans + number)) > 0
    case .rate(let rating): return try set("rating", to: rating)
    case .retitle(let title): return try set("title", to: title)
    case .confidence(let value):
      // A `.max` column: the device itself has to keep to it, Tern does so between devices.
      let confidence = Column("confidence")
      return try book.filter(confidence < value).updateAll(db, confidence.set(to: value)) > 0
    case .shelve(let shelf):
      guard try !book.isEmpty(db) else { return false }
      try Shelf(id: shelf, name: "The shelf \(shelf)").insert(db, onConflict: .ignore)
      return try set("shelf", to: shelf)
    case .thumbnail(let path): return try set("thumbnailPath", to: path)
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
