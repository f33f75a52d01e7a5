import ArgumentParser
import ExampleService
import Tern

struct Undo: AsyncParsableCommand {
  static var configuration: CommandConfiguration {
    CommandConfiguration(commandName: "undo", abstract: Word.undoAbstract.text)
  }

  @OptionGroup var file: DataFile
  @Flag(help: ArgumentHelp(Word.jsonHelp.text)) var json = false

  /// A row of what was taken back.
  private struct Line: Encodable {
    var table, action: String
    var key: [String]
  }

  func run() async throws {
    try await file.use { database, _ in
      let rows = try await database.undo()
      guard !rows.isEmpty else {
        complain(Word.nothingToUndo.text)
        throw ExitCode.unanswered
      }
      if json {
        for row in rows {
          try sayJSON(Line(table: row.table, action: row.action.rawValue, key: row.key))
        }
      } else {
        say(Word.undone.text(Self.summary(rows)))
      }
    }
  }

  /// How many rows of which table.
  private static func summary(_ rows: [UndoneRow]) -> String {
    let groups = Dictionary(grouping: rows) { "\(noun($0.table)): \(verb($0.action).rawValue)" }
    return groups.sorted { $0.key < $1.key }.map { _, rows in
      "\(noun(rows[0].table)): \(verb(rows[0].action).text(rows.count))"
    }.joined(separator: "; ")
  }

  private static func noun(_ table: String) -> String {
    switch table {
    case "phrase": Word.tablePhrase.text
    case "answer": Word.tableAnswer.text
    case "favorite": Word.tableFavorite.text
    case "setting": Word.tableSetting.text
    case "conversation": Word.tableConversation.text
    default: table
    }
  }

  private static func verb(_ action: UndoneOperation.Row.Action) -> Word {
    switch action {
    case .restored: .undoneRestored
    case .removed: .undoneRemoved
    case .broughtBack: .undoneBroughtBack
    case .left: .undoneLeft
    }
  }
}
