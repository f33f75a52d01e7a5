#if Server
import ArgumentParser
import Tern
import TernCore

struct ExplainCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "explain",
    abstract: "Say why a row is as it is: who wrote what, when, and what lost.",
    discussion: "It changes nothing. It needs only the file, not the app or its schema.")

  @OptionGroup var options: RowOptions

  @Option(help: "How many writes of each column to print: the newest, and the one that stands.")
  var limit = 100

  func run() async throws {
    let row = try options.row()
    let explanation = try row.explanation(limit: limit)
    if options.json {
      print(try ToolJSON.text(ExplanationDocument(row, explanation)))
    } else {
      if let remark = row.remark { print(remark) }
      print("\(explanation)".shown(keepsLines: true))
    }
  }
}

/// An explanation as JSON.
struct ExplanationDocument: Encodable {
  let replica, table: String
  let key: [ValueDocument]
  let isUnsealed, isTooLarge: Bool
  let generation: UInt32
  let standing, deletes: String
  let columns: [Column]
  let deletedBy: [Write]
  let survivedBy: [StampDocument]
  let deferred: [Deferred]
  let pendingChanges: Int

  struct Column: Encodable {
    let name, rule: String
    let value: ValueDocument?
    let writtenBy: StampDocument?
    let writes: [Write]
    let writeCount: Int
  }

  struct Write: Encodable {
    let by: StampDocument
    let sequence: UInt64
    var content: String?
    let outcome: String
    var isConcurrent: Bool?
  }

  struct Deferred: Encodable {
    let name: String
    let writeCount: Int
  }

  init(_ row: DatabaseFileRow, _ explanation: RowExplanation) {
    (replica, table, isUnsealed) = (row.replica, explanation.table, row.isUnsealed)
    key = explanation.key.map(ValueDocument.init)
    (isTooLarge, generation) = (explanation.isTooLarge, explanation.generation)
    standing = "\(explanation.standing)"
    deletes = "\(explanation.deleteRule)"
    columns = explanation.columns.map { column in
      Column(
        name: column.name, rule: "\(column.rule)", value: column.value.map(ValueDocument.init),
        writtenBy: column.stamp.map(StampDocument.init),
        writes: column.writes.map {
          Write(
            by: StampDocument($0.stamp), sequence: $0.sequence, content: "\($0.content)",
            outcome: "\($0.outcome)", isConcurrent: $0.isConcurrent)
        }, writeCount: column.writeCount)
    }
    deletedBy = explanation.deletes.map {
      Write(by: StampDocument($0.stamp), sequence: $0.sequence, outcome: "\($0.outcome)")
    }
    survivedBy = explanation.survivedBy.map(StampDocument.init)
    deferred = explanation.deferred.map { Deferred(name: $0.name, writeCount: $0.writeCount) }
    pendingChanges = explanation.pendingChanges
  }
}
#endif
