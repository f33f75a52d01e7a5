import Foundation
import GRDB
import Tern

/// Wall time of jobs on a disk, beside what a commit waits for there. One measurement a process: the
/// script puts the subjects side by side.
struct JobReport {
  let folder: String
  private var path: String { "\(folder)/app.sqlite" }

  /// Prints the seconds to enqueue and to work.
  func run(
    _ subject: String, count: Int, together size: Int, atOnce concurrency: Int, isFull: Bool
  ) async throws {
    let durability: Durability = isFull ? .powerLoss : .processCrash
    let time =
      subject == "c"
      ? try await JobsInC(folder: folder, durability: durability, concurrency: concurrency)
        .run(count: count, together: size)
      : try await JobBench(path: path, durability: durability, concurrency: concurrency)
        .run(count: count, together: size)
    print(format(time.enqueueing), format(time.working))
  }

  /// Prints the tenth, the middle, the ninetieth and the hundredth of a hundred, in milliseconds.
  func latency(count: Int) async throws {
    let times = try await JobBench(path: path, durability: .processCrash)
      .latencies(count: count)
    print(
      [0.1, 0.5, 0.9, 0.99].map { format(times[Int($0 * Double(count))] * 1000) }.joined(
        separator: " "))
  }

  private func format(_ number: Double) -> String { String(format: "%.3f", number) }
}
