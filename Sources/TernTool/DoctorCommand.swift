#if Server
import ArgumentParser
import Foundation
import Tern
import TernCore
import TernServer

struct DoctorCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: "Look through a database for what is broken, and say what to do.",
    discussion: """
      It changes nothing, and the file or database may be in use. The exit status is 0 if nothing \
      is broken, 1 if something is, and 2 if the file or database can't be read. One space of a \
      database after the other is copied into a temporary file, for which there must be room.
      """)

  @Argument(
    help: ArgumentHelp(
      "An app's database with a replica or a queue of jobs, or the data of 'tern serve'.",
      discussion: "That is a file, or the address of a PostgreSQL database."))
  var file: String

  @Option(help: "The schema of the database that has the server's tables.")
  var schema = "tern"

  @Option(help: "A file with the database's password.")
  var databasePasswordFile: String?

  @Option(help: "The folder of the jobs' files, if it is not beside the database.")
  var files: String?

  @Option(help: "How many findings of each check to print. The rest are counted.")
  var limit = 20

  @Flag(help: "Print JSON instead of text.")
  var json = false

  /// The file as the data of a server.
  private var data: DataOptions {
    DataOptions(data: file, schema: schema, passwordFile: databasePasswordFile)
  }

  func validate() throws {
    if data.isDatabase { try DataOptions.checkPassword(in: file, "the address") }
  }

  func run() async throws {
    let isHealthy: Bool
    do {
      isHealthy = try json ? printJSON() : printText()
    } catch let error where Self.isUnreadable(error) {
      FileHandle.standardError.write(Data("Error: \(error)".shown().utf8 + [10]))
      throw ExitCode(2)
    }
    if !isHealthy { throw ExitCode(1) }
  }

  private static func isUnreadable(_ error: any Error) -> Bool {
    #if PostgreSQL
    if error is PostgreSQLError { return true }
    #endif
    return error is InspectionError || error is StoreError
  }

  /// What looks through a database; `nil` for a file.
  private func lookAtDatabase() throws -> ((Findings) throws -> Void)? {
    guard data.isDatabase else { return nil }
    #if PostgreSQL
    return {
      try PostgreSQLDoctor(
        file, schema: schema, passwordFile: databasePasswordFile, findings: $0
      ).run()
    }
    #else
    throw DataOptions.withoutPostgreSQL
    #endif
  }

  private var folder: URL? { files.map { URL(filePath: $0) } }

  private func printJSON() throws -> Bool {
    let diagnosis =
      if let look = try lookAtDatabase() {
        try DatabaseDiagnosis(of: file, limit: limit, look)
      } else {
        try DatabaseDiagnosis(path: file, files: folder, limit: limit, other: ServerDoctor.look)
      }
    print(try ToolJSON.text(diagnosis))
    return diagnosis.isHealthy
  }

  private func printText() throws -> Bool {
    var (findings, remarks) = (0, 0)
    let tell = { (finding: DatabaseFinding) in
      if finding.grade == .finding { findings += 1 } else { remarks += 1 }
      print(Self.text(finding))
    }
    let counts =
      if let look = try lookAtDatabase() {
        try DatabaseDiagnosis.run(limit: limit, look, tell)
      } else {
        try DatabaseDiagnosis.run(
          path: file, files: folder, limit: limit, other: ServerDoctor.look, tell)
      }
    let rest = counts.values.reduce(0, +) - findings - remarks
    let more = rest > 0 ? ", and \(rest) more of the same" : ""
    let broken = findings == 0 ? "nothing is broken" : "\(findings) findings"
    print("\(broken), \(remarks) remarks\(more)")
    return findings == 0
  }

  private static func text(_ finding: DatabaseFinding) -> String {
    let place = finding.place.description
    return """
      \(finding.grade == .finding ? "FINDING" : "remark ") \(finding.invariant) \(finding.check)\
      \(place.isEmpty ? "" : ": \(place.shown())")
        \(finding.what.shown())
        \(finding.remedy)
      """
  }
}

/// JSON as every command prints it.
enum ToolJSON {
  static func text(_ document: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(document), as: UTF8.self)
      .shown(keepsLines: true, isJSON: true)
  }
}
#endif
