import Foundation
import GRDB
import Observation
import Tern

// What Docs/SwiftUI.md shows, as far as it needs no Apple API.

struct Errand: Codable, FetchableRecord, PersistableRecord, Identifiable, Hashable, Sendable {
  enum Columns {
    static let note = Column(CodingKeys.note)
    static let position = Column(CodingKeys.position)
  }
  var id = UUID().uuidString
  var title: String
  var note = ""
  var position: String?
}

extension SyncSchema {
  static let errands = SyncSchema(
    version: 1,
    tables: [
      SyncTable(Errand.self, merge: [Errand.Columns.note: .text, Errand.Columns.position: .order])
    ])
}

extension DatabaseMigrator {
  static var errands: DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("errands") { db in
      try db.create(table: "errand") { table in
        table.primaryKey("id", .text)
        table.column("title", .text).notNull().defaults(to: "")
        table.column("note", .text).notNull().defaults(to: "")
        table.column("position", .text).indexed()
      }
    }
    return migrator
  }
}

struct ErrandParts: Sendable {
  let database: DatabasePool
  let replica: Replica
  let engine: SyncEngine

  init(path: String, server: URL, token: @escaping @Sendable () async throws -> String) async throws
  {
    var configuration = Configuration()
    configuration.busyMode = .timeout(10)
    // For a file in an app group's container: see Docs/Guide.md, "In an app".
    configuration.observesSuspensionNotifications = true
    database = try DatabasePool(path: path, configuration: configuration)
    replica = try await Replica.open(database, schema: .errands, migrator: .errands)
    engine = SyncEngine(replica, remote: HTTPRemote(server, space: "home", token: token))
  }
}

enum ErrandOpening: Sendable {
  case loading
  case ready(ErrandParts)
  case failed(String)
}

@MainActor @Observable final class ErrandModel {
  private(set) var opening = ErrandOpening.loading
  private var isOpening = false
  private let makeParts: @Sendable () async throws -> ErrandParts

  init(_ makeParts: @escaping @Sendable () async throws -> ErrandParts) {
    self.makeParts = makeParts
  }

  var parts: ErrandParts? {
    if case .ready(let parts) = opening { parts } else { nil }
  }

  func open() async {
    // Two scenes, or a background task, may ask at once.
    if isOpening || parts != nil { return }
    isOpening = true
    defer { isOpening = false }
    opening = .loading
    do {
      opening = .ready(try await makeParts())
    } catch {
      opening = .failed(error.localizedDescription)
    }
  }
}

@MainActor @Observable final class ErrandList {
  private(set) var errands: [Errand] = []
  private(set) var problem: String?
  private let parts: ErrandParts

  init(_ parts: ErrandParts) { self.parts = parts }

  /// Returns when its task is cancelled.
  func follow() async {
    let observation = ValueObservation.tracking { db in
      try Errand.order(sql: "position, id").fetchAll(db)
    }
    await trying {
      for try await errands in observation.values(in: parts.database) { self.errands = errands }
    }
  }

  func add(_ title: String) async {
    let replica = parts.replica
    await trying {
      try await parts.database.write { db in
        let position = try replica.orderKey(Errand.self, at: .last, in: db)
        try Errand(title: title, position: position.text).insert(db)
      }
    }
  }

  func move(_ source: IndexSet, to destination: Int) async {
    let replica = parts.replica
    let moved = source.map { errands[$0] }
    let above = errands[..<destination].indices.last { !source.contains($0) }
    let first = above.map { OrderPlace.after(errands[$0].id) } ?? .first
    await trying {
      // One transaction: the rows stay together.
      try await parts.database.write { db in
        var place = first
        for errand in moved {
          try replica.move(errand, to: place, in: db)
          place = .after(errand.id)
        }
      }
    }
  }

  func delete(_ places: IndexSet) async {
    let ids = places.map { errands[$0].id }
    await trying {
      _ = try await parts.database.write { db in try Errand.deleteAll(db, keys: ids) }
    }
  }

  private func trying(_ work: () async throws -> Void) async {
    do {
      try await work()
    } catch is CancellationError {
    } catch {
      problem = error.localizedDescription
    }
  }
}

@MainActor @Observable final class NoteModel {
  private var draft: TextDraft?
  private(set) var problem: String?
  private let parts: ErrandParts
  private let errand: Errand

  init(_ parts: ErrandParts, _ errand: Errand) { (self.parts, self.errand) = (parts, errand) }

  /// What a `TextEditor` is bound to.
  var text: String {
    get { draft?.text ?? "" }
    set { draft?.write(newValue) }
  }

  /// Whether there is such a row.
  var isThere: Bool { draft != nil }

  /// Loads the draft, and takes what others write, until its task is cancelled.
  func follow() async {
    let changes = parts.replica.changes()
    load()
    for await change in changes where change[Errand.self] != nil { save() }
  }

  func save() {
    guard var edited = draft else { return }
    do {
      let isStored = try parts.database.write { db in
        try parts.replica.save(&edited, in: db)
      }
      if isStored { draft = edited } else { problem = "The errand was deleted; its note is here." }
    } catch {
      // The edits stay in the draft, for the next attempt.
      problem = error.localizedDescription
    }
  }

  private func load() {
    do {
      draft = try parts.database.read { db in
        try parts.replica.draft(errand, column: Errand.Columns.note, in: db)
      }
    } catch {
      problem = error.localizedDescription
    }
  }
}

@MainActor @Observable final class InboxModel {
  private(set) var entries: [InboxEntry] = []
  private(set) var problem: String?
  private let parts: ErrandParts

  init(_ parts: ErrandParts) { self.parts = parts }

  func follow() async {
    let replica = parts.replica
    let observation = ValueObservation.tracking { db in try replica.inbox(in: db) }
    do {
      for try await entries in observation.values(in: parts.database) { self.entries = entries }
    } catch is CancellationError {
    } catch {
      problem = error.localizedDescription
    }
  }

  func restore(_ entry: InboxEntry) async {
    do { try await parts.replica.restore(entry) } catch { problem = error.localizedDescription }
  }

  func discard(_ entry: InboxEntry) async {
    let replica = parts.replica
    do {
      try await replica.write { db in try replica.discard(entry, in: db) }
    } catch {
      problem = error.localizedDescription
    }
  }

  func dismiss(_ entry: InboxEntry) async {
    do { try await parts.replica.dismiss(entry) } catch { problem = error.localizedDescription }
  }
}

@MainActor func refreshErrands(_ model: ErrandModel) async -> Bool {
  await model.open()
  guard let engine = model.parts?.engine else { return false }
  do {
    try await engine.syncOnce()
    return true
  } catch {
    // Without a network, say. The next round goes on from here.
    return false
  }
}

func openErrandsForWidget(_ path: String) throws -> DatabaseQueue {
  var configuration = Configuration()
  configuration.busyMode = .timeout(2)
  configuration.observesSuspensionNotifications = true
  configuration.prepareDatabase { db in
    try db.execute(sql: "PRAGMA wal_autocheckpoint = 0")
  }
  return try DatabaseQueue(path: path, configuration: configuration)
}

func finishErrand(_ id: String, _ database: DatabaseQueue) async throws {
  _ = try await database.write { db in try Errand.deleteOne(db, key: id) }
}
