import ExampleProcesses
import Foundation

/// One service, and one round after the other with it.
struct ScanLane: Sendable {
  private let folder: String
  private let photo: String
  private let service: ScanService
  private var books: [ScanFacts.Book] = []

  static func run(_ plans: PlanQueue) async -> ScanTally {
    var tally = ScanTally()
    let folder = FileManager.default.temporaryDirectory.appending(
      path: "tern-scan-\(UUID().uuidString)"
    ).path
    do {
      var lane = try await blocking { try ScanLane(folder: folder) }
      do {
        try await lane.lookUndisturbed()
        while let plan = plans.next() { tally.add(await lane.counting(plan)) }
      } catch {
        tally.violations.append("an undisturbed scan: \(error)")
      }
      let service = lane.service
      try await blocking { service.stop() }
    } catch {
      tally.violations.append("no service: \(error)")
    }
    do { try FileManager.default.removeItem(atPath: folder) } catch {
      tally.violations.append("\(folder) could not be removed: \(error)")
    }
    return tally
  }

  private init(folder: String) throws {
    (self.folder, photo) = (folder, folder + "/shelf.png")
    let catalogue = folder + "/catalogue.csv"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try Data(ScanCampaign.catalogue.utf8).write(to: URL(filePath: catalogue))
    try BarcodePhoto.write(ScanCampaign.isbns, to: photo)
    service = try ScanService(catalogue: catalogue)
  }

  private mutating func lookUndisturbed() async throws {
    books = try await round(nil, .none).facts.books
    guard books.map(\.isbn) == ScanCampaign.isbns, books.allSatisfy({ $0.timesScanned == 1 })
    else { throw ScanCrashFailure("the photo's books are \(books)") }
  }

  private func counting(_ plan: ScanCampaign.Plan) async -> ScanTally {
    var tally = ScanTally()
    tally.rounds = 1
    do {
      let before = try await service.counts()
      try await service.misbehave(plan.misbehaviour)
      let result = try await round(plan.kill, plan.misbehaviour)
      let check = ScanCheck(
        kill: plan.kill, misbehaviour: plan.misbehaviour, photos: result.photos,
        runsKilled: result.runsKilled, loss: result.loss, books: books,
        before: before, after: try await service.counts())
      tally.add(result, plan, check)
    } catch {
      tally.violations.append("\(plan.name): \(error)")
    }
    return tally
  }

  private func round(
    _ kill: ScanKill?, _ misbehaviour: ScanMisbehaviour
  ) async throws -> ScanRound.Result {
    let folder = "\(folder)/\(UUID().uuidString)"
    let (photo, url) = (photo, service.url)
    return try await blocking {
      let device = try ScanDevice(
        folder: folder, service: url, streamSeconds: misbehaviour.streamSeconds)
      defer { try? FileManager.default.removeItem(atPath: folder) }
      return try ScanRound(kill: kill, device: device, photo: photo).run()
    }
  }
}

/// Off Swift's own threads, which nobody may hold up.
private func blocking<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
  try await withCheckedThrowingContinuation { continuation in
    DispatchQueue.global().async { continuation.resume(with: Result { try body() }) }
  }
}
