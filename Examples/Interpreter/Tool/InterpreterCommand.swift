import ArgumentParser
import ExampleService
import Foundation
import InterpreterKit

/// `interpreter`: the translation service on this machine.
@main
struct InterpreterCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "interpreter",
    abstract: "A local translation service: the Gemini contract over HTTP, Apertium behind it.",
    discussion: """
      Serves until SIGTERM or SIGINT. With INTERPRETER_KEY in the environment, others than that key \
      are refused.
      --misbehave takes KIND[=VALUE][:COUNT], several with commas: \
      \(InterpreterMisdeed.allCases.map(\.rawValue).joined(separator: ", ")).

      \(Ending.table)
      """)

  static func main() async { await runToItsEnd() }

  @Option(help: "The port to listen on; 0 for a free one.")
  var port = 8091

  @Option(help: "What to do wrong, for tests of a client.")
  var misbehave = ""

  func validate() throws {
    guard (0...65_535).contains(port) else {
      throw ValidationError("--port is a number from 0 to 65535")
    }
  }

  func run() async throws {
    let apertium = Apertium()
    guard !apertium.pairs.isEmpty else {
      let packages = Apertium.packages.joined(separator: " ")
      throw Refusal("Apertium is not installed: apt-get install \(packages)")
    }
    var service = InterpreterApplication(apertium)
    service.port = port
    service.misbehaviour = try Misdeed.list(misbehave)
    let key = ProcessInfo.processInfo.environment["INTERPRETER_KEY"] ?? ""
    service.key = key.isEmpty ? nil : key
    service.onListening = { say("interpreter: listening on http://127.0.0.1:\($0)") }
    try await service.runUntilSignal()
  }
}
