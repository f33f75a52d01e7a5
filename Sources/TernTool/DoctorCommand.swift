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
      It changes nothing, and the file may be in use. The exit status is 0 if nothing is broken, \
      1 if something is, and 2 if the file can't be read.
      """)

  @Argument(
    help: "An app's database with a replica or a queue of jobs, or the data file of 'tern serve'.")
  var file: String

  @Option(help: "The folder of the jobs' files, if it is not beside the database.")
  var files: String?

  @Option(help: "How many findings of each check to print. The rest are counted.")
  var limit = 20

  @Flag(help: "Print JSON instead of text.")
  var json = false

  func run() async throws {
    let isHealthy: Bool
    do {
      isHealthy = try json ? printJSON() : printText()
    } catch let error as InspectionError {
      FileHandle.standardError.write(Data("Error: \(error)".shown().utf8 + [10]))
      throw ExitCode(2)
    }
    if !isHealthy { throw ExitCode(1) }
  }

  private var folder: URL? { files.map { URL(filePath: $0) } }

  private func printJSON() throws -> Bool {
    let diagnosis = try DatabaseDiagnosis(
      path: file, files: folder, limit: limit, other: ServerDoctor.look)
    print(try ToolJSON.text(diagnosis))
    return diagnosis.isHealthy
  }

  private func printText() throws -> Bool {
    var (findings, remarks) = (0, 0)
    let counts = try DatabaseDiagnosis.run(
      path: file, files: folder, limit: limit, other: ServerDoctor.look
    ) { finding in
      if finding.grade == .finding { findings += 1 } else { remarks += 1 }
      print(Self.text(finding))
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
