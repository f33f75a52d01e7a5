import ArgumentParser
import ExampleService
import Foundation
import RecognizerKit

/// `recognizer`: the scan service on this machine, or one look at photos.
@main
struct RecognizerCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "recognizer",
    abstract: "A local scan service: finds the books of a catalogue in photos of shelves.",
    discussion: """
      Serves until SIGTERM or SIGINT; given photos, it reads them and ends.
      --misbehave takes KIND[=VALUE][:COUNT], several with commas: \
      \(MisbehaviourKind.allCases.map(\.rawValue).joined(separator: ", ")).

      \(Ending.table)
      """)

  static func main() async { await runToItsEnd() }

  @Option(
    help:
      "A CSV with the columns title, authors and isbn, as goodbooks-10k has them; may be repeated.")
  var catalogue: [String]

  @Option(help: "The port to listen on; 0 for a free one.")
  var port = 8090

  @Option(help: "What to do wrong, for tests of a client.")
  var misbehave = ""

  @Option(help: "The seconds between two pings of a stream.")
  var pingSeconds = 30.0

  @Option(help: "How many scans a device may ask for in a day.")
  var dailyQuota = 200

  @Option(help: "How many photos are read at the same time.")
  var photosAtOnce = 2

  @Argument(help: "Photos to be read now, instead of serving.")
  var photos: [String] = []

  func validate() throws {
    guard (0...65_535).contains(port) else {
      throw ValidationError("--port is a number from 0 to 65535")
    }
    guard !catalogue.isEmpty else { throw ValidationError("--catalogue is missing") }
    guard pingSeconds > 0, dailyQuota > 0, photosAtOnce > 0 else {
      throw ValidationError("--ping-seconds, --daily-quota and --photos-at-once are above 0")
    }
  }

  func run() async throws {
    let misbehaviour = try Misbehaviour.list(misbehave)
    let reader = try PhotoReader(catalogues: catalogue)
    for photo in photos { try look(at: photo, reader) }
    guard photos.isEmpty else { return }
    var service = RecognizerApplication(reader)
    service.port = port
    service.misbehaviour = misbehaviour
    service.photosAtOnce = photosAtOnce
    service.limits.pingInterval = .seconds(pingSeconds)
    service.limits.jobsPerDay = dailyQuota
    service.onListening = { say("recognizer: listening on http://127.0.0.1:\($0)") }
    try await service.runUntilSignal()
  }

  private func look(at path: String, _ reader: PhotoReader) throws {
    _ = try PictureHeader(ofFileAt: path, mostBytes: 50 << 20)
    let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    try reader.read(bytes) { found in
      let authors = found.book.authors.joined(separator: ", ")
      say("\(path)\t\(String(format: "%.3f", found.confidence))\t\(found.book.title)\t\(authors)")
    }
  }
}
