import Foundation
import GRDB

/// Wall time on a file that survives losing power: medians of interleaved rounds.
struct Timing {
  let directory: String
  let rows: Int
  let rounds: Int

  func run(_ cases: [BenchCase]) throws {
    var times: [String: [Double]] = [:]
    var syncs: [Double] = []
    let all = BenchRow.make(rows)
    for _ in 0..<rounds {
      syncs.append(try Self.syncTime(directory))
      for bench in cases {
        // A commit a row waits for the disk a row; a tenth of them says as much.
        let share = bench.rawValue.hasPrefix("single") ? Array(all.prefix(rows / 10)) : all
        for isSynced in [false, true] {
          let time = try time(bench, isSynced, share)
          times["\(bench.rawValue) \(isSynced)", default: []].append(time / Double(share.count))
        }
      }
    }
    print("disk: one write of 4 KiB and fdatasync takes \(format(syncs.median * 1e6)) us")
    print("| case | plain, us a row | tern, us a row | ratio |\n| --- | --- | --- | --- |")
    for bench in cases {
      let plain = times["\(bench.rawValue) false"]!.median
      let tern = times["\(bench.rawValue) true"]!.median
      print(
        "| \(bench.rawValue) | \(format(plain * 1e6)) | \(format(tern * 1e6)) "
          + "| \(format(tern / plain)) |")
    }
  }

  private func time(_ bench: BenchCase, _ isSynced: Bool, _ rows: [BenchRow]) throws -> Double {
    let folder = "\(directory)/tern-bench-\(ProcessInfo.processInfo.processIdentifier)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let work = try bench.prepare(isSynced: isSynced, path: "\(folder)/item.sqlite", rows: rows)
    let duration = try ContinuousClock().measure(work)
    return duration / .seconds(1)
  }

  /// The median of what a commit waits for.
  static func syncTime(_ directory: String) throws -> Double {
    let path = "\(directory)/tern-bench-sync"
    let file = open(path, O_RDWR | O_CREAT, 0o600)
    precondition(file >= 0, "cannot write to \(directory)")
    defer {
      close(file)
      unlink(path)
    }
    let page = [UInt8](repeating: 7, count: 4096)
    return (0..<50).map { index in
      ContinuousClock().measure {
        _ = pwrite(file, page, page.count, off_t(index * page.count))
        _ = fdatasync(file)
      } / .seconds(1)
    }.median
  }

  private func format(_ number: Double) -> String {
    String(format: "%.2f", number)
  }
}

extension [Double] {
  var median: Double { isEmpty ? .nan : sorted()[count / 2] }
}
