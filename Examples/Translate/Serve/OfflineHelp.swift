import ExampleService
import GRDB
import InterpreterKit
import Tern

/// Answers with what is installed here while a service can't be reached, where the settings want it.
struct OfflineHelp: Sendable {
  let database: TranslateDatabase

  /// Until the task is cancelled.
  func run() async throws {
    let (apertium, database) = (Apertium(), database)
    let stuck = ValueObservation.tracking { db in try Self.stuck(database, in: db) }
    // What it can't do, it is not asked again for the same question.
    var tried: Set<String> = []
    for try await ids in stuck.values(in: database.pool, bufferingPolicy: .bufferingNewest(1)) {
      for id in ids where tried.insert(id).inserted {
        if let refusal = try await database.answerOffline(id, with: apertium) {
          complain(refusal.shown())
        }
      }
    }
  }

  private static func stuck(_ database: TranslateDatabase, in db: Database) throws -> [String] {
    let settings = try Settings(in: db)
    guard settings[.offline] == "on" else { return [] }
    let services = try Standing(database, in: db).lines.filter {
      switch $0.cause {
      case .unreachable, .limited: true
      case .nothing, .retry: false
      }
    }.map(\.service)
    return try services.flatMap { service in
      try String.fetchAll(
        db,
        sql: "SELECT phrase FROM waiting WHERE coalesce(service, ?) = ? ORDER BY place LIMIT 100",
        arguments: [settings[.service], service])
    }
  }
}
