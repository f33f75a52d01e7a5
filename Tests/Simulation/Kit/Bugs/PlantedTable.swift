#if Server && Rehearsal
import Foundation
import TernCore

/// The tables of planted bugs in Docs/Testing.md, made anew by running them.
package enum PlantedTable {
  /// Every bug must be caught by one of these.
  package static let seeds: ClosedRange<UInt64> = 1...1000

  /// The first seed that catches a bug as what it is.
  package struct Catch: Hashable, Sendable {
    package let seed: UInt64
    package let violation: String
    /// The violation's id.
    package var invariant: String { String(violation.prefix(while: { $0 != ":" })) }
  }

  /// What others than the bug's own checker say of it does not count: they may say it of anything.
  ///
  /// - Parameter first: where to begin, when earlier seeds are known to miss it.
  /// - Returns: `nil` where all seeds miss it.
  package static func firstCatch(of bug: Planted, from first: UInt64 = 1) throws -> Catch? {
    let violations = try SeedSweep.run(
      first...seeds.upperBound, bug: bug, until: { $0.map(bug.checker.says) ?? false },
      { seed in
        guard Planted.ofJobs.contains(bug) else { return Simulation.run(seed: seed).violation }
        do {
          return try JobSimulation.run(seed: seed).violation
        } catch {
          // With a bug in it a world may end by an error that no checker speaks of.
          return "failed: \(error)"
        }
      })
    guard let violation = violations.last ?? nil, bug.checker.says(violation) else { return nil }
    return Catch(seed: first + UInt64(violations.count - 1), violation: violation)
  }

  /// Puts new tables between the markers of a Markdown file, and prints each row when it is known.
  ///
  /// - Throws: ``TableError`` where a marker is missing, or a bug is caught by no seed.
  package static func rewrite(_ path: String) throws {
    let text = try String(contentsOfFile: path, encoding: .utf8)
    let sync = try replace("sync", in: text) { try table(Planted.ofSync) }
    let all = try replace("jobs", in: sync) { try table(Planted.ofJobs) }
    try all.write(toFile: path, atomically: true, encoding: .utf8)
  }

  private static func table(_ bugs: [Planted]) throws -> String {
    var lines = ["| bug | what is wrong | caught as | first seed |", "| --- | --- | --- | --- |"]
    for bug in bugs {
      guard let found = try firstCatch(of: bug) else {
        throw TableError(message: "\(bug.rawValue) is caught by none of \(seeds.count) seeds")
      }
      lines.append("| `\(bug.rawValue)` | \(bug.meaning) | \(found.invariant) | \(found.seed) |")
      print(lines[lines.count - 1])
      fflush(nil)
    }
    return lines.joined(separator: "\n")
  }

  /// The bugs that a file's table names, in its order.
  package static func names(of table: String, in text: String) throws -> [String] {
    try part(table, of: text).split(separator: "\n").compactMap { line in
      let cells = line.split(separator: "`")
      return line.hasPrefix("| `") && cells.count > 2 ? String(cells[1]) : nil
    }
  }

  /// Which seed a table of a file has for a bug.
  package static func seed(of bug: Planted, in text: String) -> UInt64? {
    let row = text.split(separator: "\n").first { $0.hasPrefix("| `\(bug.rawValue)` |") }
    return row?.split(separator: "|").last.flatMap { UInt64($0.filter { $0 != " " }) }
  }

  private static func replace(_ table: String, in text: String, by new: () throws -> String) throws
    -> String
  {
    let old = try part(table, of: text)
    return text.replacingCharacters(
      in: old.startIndex..<old.endIndex, with: "\n\(try new())\n")
  }

  private static func part(_ table: String, of text: String) throws -> Substring {
    guard let begin = text.range(of: "<!-- bugs of \(table) -->"),
      let end = text.range(of: "<!-- end -->", range: begin.upperBound..<text.endIndex)
    else {
      throw TableError(
        message: "the markers “<!-- bugs of \(table) -->” and “<!-- end -->” are gone")
    }
    return text[begin.upperBound..<end.lowerBound]
  }

  package struct TableError: Error, CustomStringConvertible {
    let message: String
    package var description: String { message }
  }
}
#endif
