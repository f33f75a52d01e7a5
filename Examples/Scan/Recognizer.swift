import Foundation

/// The local service, started when no other one is named.
final class Recognizer: Sendable {
  let url: URL
  private let process: Process

  /// Starts `recognizer`, which stands beside this program, and waits until it listens.
  init(catalogue: String?) throws {
    let folder = URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath()
      .deletingLastPathComponent()
    let program = folder.appending(path: "recognizer")
    guard FileManager.default.isExecutableFile(atPath: program.path) else {
      throw Refusal("there is no \(program.path); build it, or name a service with --service URL")
    }
    process = Process()
    process.executableURL = program
    process.arguments = ["--port", "0"] + (catalogue.map { ["--catalogue", $0] } ?? [])
    let said = Pipe()
    process.standardOutput = said
    try process.run()
    // One line, and nothing after it.
    var line = ""
    while let byte = try said.fileHandleForReading.read(upToCount: 1), byte != Data("\n".utf8) {
      line += String(decoding: byte, as: UTF8.self)
    }
    guard let start = line.range(of: "http://"),
      let url = URL(string: String(line[start.lowerBound...]))
    else {
      throw Refusal("the recognizer didn't start; what it said is above")
    }
    self.url = url
  }

  func stop() {
    process.terminate()
    process.waitUntilExit()
  }
}

/// Why a command does nothing.
struct Refusal: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) {
    self.description = description
  }
}
