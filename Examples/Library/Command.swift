/// What is to be done, known before the database is opened: a word that says nothing makes no file.
enum Command {
  case `import`, edit, sync, stats, list, hash
  /// To one book.
  case change(Edit, key: String)

  /// From a command's name and its arguments.
  init(_ name: String, _ arguments: Arguments) throws {
    switch name {
    case "import": self = .import
    case "edit": self = .edit
    case "sync": self = .sync
    case "stats": self = .stats
    case "list": self = .list
    case "hash": self = .hash
    default:
      let edit = try Edit(name, arguments.optional(1))
      self = .change(edit, key: try arguments.argument(0, "key"))
    }
  }
}
