#if Server
import Foundation

/// The `tern` command, run as its own process.
final class TernProcess {
  private let process = Process()
  private let (output, errors) = (Pipe(), Pipe())

  /// - Parameters:
  ///   - wrapper: a command that runs the rest of its line.
  ///   - environment: variables beside those of this process.
  init(
    _ arguments: [String], behind wrapper: [String] = [], environment: [String: String] = [:]
  ) throws {
    let tern = URL(fileURLWithPath: CommandLine.arguments[0])
      .deletingLastPathComponent().appendingPathComponent("tern")
    process.executableURL = wrapper.isEmpty ? tern : URL(fileURLWithPath: "/usr/bin/env")
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.arguments = wrapper + (wrapper.isEmpty ? [] : [tern.path]) + arguments
    (process.standardOutput, process.standardError) = (output, errors)
    try process.run()
  }

  /// What a command that ends by itself prints, and its exit code.
  static func run(_ arguments: String...) throws -> (output: String, errors: String, code: Int32) {
    try run(arguments)
  }

  static func run(
    _ arguments: [String], behind wrapper: [String] = [], environment: [String: String] = [:]
  ) throws -> (output: String, errors: String, code: Int32) {
    let process = try TernProcess(arguments, behind: wrapper, environment: environment)
    let output = process.output.fileHandleForReading.readDataToEndOfFile()
    let errors = process.errors.fileHandleForReading.readDataToEndOfFile()
    let code = process.wait()
    return (String(decoding: output, as: UTF8.self), String(decoding: errors, as: UTF8.self), code)
  }

  /// The next line on standard output.
  func line() -> String {
    var bytes: [UInt8] = []
    while let byte = output.fileHandleForReading.readData(ofLength: 1).first, byte != 10 {
      bytes.append(byte)
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// What it says on standard error until its end.
  func complaints() -> String {
    String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
  }

  var identifier: Int32 { process.processIdentifier }

  func terminate() { process.terminate() }

  /// Waits for the end; the exit code.
  func wait() -> Int32 {
    process.waitUntilExit()
    return process.terminationStatus
  }
}
#endif
