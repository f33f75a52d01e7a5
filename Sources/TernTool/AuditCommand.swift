#if Server
import ArgumentParser
import Foundation
import TernCore
import TernServer

struct AuditCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "audit",
    abstract: """
      Print a line for each change by an operator: its number, when, who, what, and of which space.
      """,
    discussion: """
      The oldest comes first. The log has what these commands and operators' tokens changed, and \
      the newest 100,000 records.
      """)

  @OptionGroup var options: DataOptions

  @Option(help: "Only what changed in this space, which may be deleted.")
  var space: String?

  @Option(help: "Only what follows the record of this number.")
  var after: UInt64 = 0

  func run() async throws {
    let space = try space.map { try SpaceName($0) }
    try withVisitingService(options) { service in
      var last = after
      while true {
        let page = try service.store.auditRecords(after: last, of: space, atMost: 1_000)
        guard let end = page.last else { return }
        for record in page { print(Self.line(record)) }
        last = end.number
      }
    }
  }

  private static func line(_ record: AuditRecord) -> String {
    let entry = record.entry
    let details = entry.details.sorted { $0.key < $1.key }.map { "\($0)=\($1)" }
    let words = [
      "\(record.number)", entry.time.ISO8601Format(), "\(entry.actor)", "\(entry.action)",
      "\(entry.space)",
    ]
    return (words + details).joined(separator: "  ").shown()
  }
}
#endif
