import Foundation
import Tern
import TernJobs

private struct SampleJob: Job, Hashable {
  static let kind = "sample"
  var shelf: String
  var photos: [String: Int]
  var position: Double?
  var nested: [[UInt8]]
}

extension FuzzTarget {
  /// What a queue reads back from its tables, as a database that was damaged or comes from another
  /// version holds it: a payload or, behind the number of a ``StoredPart``, anything else.
  static let job = FuzzTarget(
    name: "job",
    samples: {
      let jobs = [
        SampleJob(shelf: "B3", photos: ["a.jpg": 1], position: 0.25, nested: [[1, 2], []]),
        SampleJob(shelf: "é\u{0}\"", photos: [:], position: nil, nested: []),
      ]
      return try jobs.map { Array(try JSONEncoder().encode($0)) }
        + StoredArena.samples.map { [$0.part.rawValue] + $0.content.utf8 }
    },
    run: { bytes in
      // No JSON begins with these.
      if let part = bytes.first.flatMap(StoredPart.init) {
        return try StoredArena().run(part, Array(bytes.dropFirst()))
      }
      return try payload(Data(bytes))
    })

  private static func payload(_ payload: Data) throws -> Outcome {
    let job: SampleJob
    do throws(Unusable) {
      job = try JobHandlers.job(SampleJob.self, payload, version: 1)
    } catch {
      try require(error.reason.utf8.count < 4096, "a reason is as long as a payload")
      return .refused
    }
    let again = try JSONEncoder().encode(job)
    try require(try JSONDecoder().decode(SampleJob.self, from: again) == job, "a payload changes")
    return .taken
  }
}
