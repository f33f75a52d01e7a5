#if os(Linux) || os(macOS)
import Foundation
import GRDB
import TernDatabase
import TestProcesses

@testable import PowerLossWriter

/// One life of a writer: it commits until it is killed, then its file is opened without it.
struct PowerLossRun {
  /// When the writer dies. It runs on meanwhile, so it may be anywhere in a later commit.
  enum Kill: Hashable {
    case afterAcknowledgements(Int)
    /// In the middle of a line or not; after 0 bytes it may still be opening the database.
    case afterBytes(Int)
  }

  struct Outcome {
    /// The last number that was acknowledged; `nil` if not even the table was.
    var acknowledged: Int?
    /// The last number of the rows without a gap.
    var survived: Int?
    /// What must not be under any durability.
    var damage: [String] = []

    var isLoss: Bool { (survived ?? -1) < (acknowledged ?? -1) }
  }

  let durability: Durability
  let seed: UInt64

  var kill: Kill {
    var generator = SeededGenerator(seed: ~seed)
    return seed % 8 == 0
      ? .afterBytes(Int.random(in: 0...40, using: &generator))
      : .afterAcknowledgements(Int.random(in: 1...60, using: &generator))
  }

  func perform() throws -> Outcome {
    try withTemporaryFolder { folder in
      let path = folder + "/file"
      var outcome = Outcome(acknowledged: try writeUntilKilled(path))
      try readBack(path, into: &outcome)
      return outcome
    }
  }

  private func writeUntilKilled(_ path: String) throws -> Int? {
    let writer = try ChildProcess(
      BuiltExecutable.path("PowerLossWriter"), arguments: [path, durability.rawValue, "\(seed)"])
    var output: [UInt8] = []
    var isKilled = false
    while true {
      if !isKilled, isTime(for: output) {
        writer.kill()
        isKilled = true
      }
      // After the kill, the acknowledgements that were still in the pipe.
      guard let bytes = writer.read() else { break }
      output += bytes
    }
    writer.endInput()
    let status = writer.wait()
    guard status == SIGKILL else { throw WriterEnded(status: status) }
    let lines = output.split(separator: UInt8(ascii: "\n"))
    return lines.last.flatMap { Int(String(decoding: $0, as: UTF8.self)) }
  }

  private func isTime(for output: [UInt8]) -> Bool {
    switch kill {
    case .afterBytes(let count): output.count >= count
    case .afterAcknowledgements(let count): output.count { $0 == UInt8(ascii: "\n") } >= count
    }
  }

  private func readBack(_ path: String, into outcome: inout Outcome) throws {
    let queue = try DatabaseQueue(path: path)
    defer { try? queue.close() }
    try queue.read { db in
      let check = try String.fetchAll(db, sql: "PRAGMA integrity_check")
      if check != ["ok"] { outcome.damage += check }
      guard try db.tableExists("entry") else { return }
      var number = 0
      var last = 0
      let rows = try Row.fetchCursor(
        db, sql: "SELECT number, last, body FROM entry ORDER BY number")
      while let row = try rows.next() {
        number += 1
        last = row["last"]
        guard row["number"] == number else {
          outcome.damage.append("row \(number) is missing before others")
          return
        }
        if row["body"] != Workload.body(of: number) {
          outcome.damage.append("row \(number) changed")
        }
      }
      if last != number { outcome.damage.append("rows \(number + 1) to \(last) of a commit miss") }
      outcome.survived = number
    }
  }

  /// It was not killed: its exit status, or the signal that ended it.
  struct WriterEnded: Error {
    var status: CInt
  }
}
#endif
