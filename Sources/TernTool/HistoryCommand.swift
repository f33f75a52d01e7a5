#if Server
import ArgumentParser
import Tern
import TernCore

struct HistoryCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "history",
    abstract: "Print every change of a row that the log has, the earliest first.",
    discussion: "It changes nothing. It needs only the file, not the app or its schema.")

  @OptionGroup var options: RowOptions

  func run() async throws {
    let row = try options.row()
    var changes: [ChangeDocument] = []
    var position: RowHistory.Position?
    repeat {
      let page = try row.history(after: position)
      if options.json {
        changes += page.changes.map(ChangeDocument.init)
      } else {
        for change in page.changes { print("\(change)".shown(keepsLines: true)) }
      }
      position = page.next
    } while position != nil
    if options.json {
      print(try ToolJSON.text(changes))
    } else if let remark = row.remark {
      print(remark)
    }
  }
}

/// One change as JSON.
struct ChangeDocument: Encodable {
  let by: StampDocument
  let member: String?
  let isBrought: Bool
  let broughtBy: String?
  let sequence: UInt64
  let kind: String
  let generation: UInt32
  let isMerged: Bool
  let columns: [Column]

  struct Column: Encodable {
    let name: String
    let rule: String?
    let content: String
    let isDeferred: Bool
  }

  init(_ change: RowHistory.Change) {
    (by, sequence) = (StampDocument(change.stamp), change.sequence)
    (member, isBrought, broughtBy) = (change.member, change.isBrought, change.broughtBy)
    (kind, generation) = (change.kind.rawValue, change.generation)
    isMerged = change.isMerged
    columns = change.columns.map {
      Column(
        name: $0.name, rule: $0.rule.map { "\($0)" }, content: "\($0.content)",
        isDeferred: $0.isDeferred)
    }
  }
}
#endif
