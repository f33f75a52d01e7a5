import ExampleService
import Foundation
import GRDB
import Tern

/// What the page shows of a conversation, and of how the program stands.
struct PageState: Encodable {
  let settings: [String: String]
  /// Languages: the favorites, and those that were used last.
  let stars, recents: [String]
  /// What is kept, the newest thousand first.
  let favorites: [Favorite]
  let talk: Conversation?
  /// The newest of the conversation, in their order.
  let entries: [Entry]
  let hasMore: Bool
  /// Those of them that wait here.
  let waits: [String]
  /// The question that is put to the service now, since when in milliseconds since 1970, and what
  /// there is of its answer.
  let asking: String?
  let since: Int64?
  let part: String?
  let standing: Standing
  /// From which languages into which this machine translates by itself.
  let offline: [[String]]
  /// Whether the interpreter `runs` in this program, is `missing`, or isn't needed.
  let interpreter: String
  /// Whether `espeak-ng` is installed.
  let canSpeak: Bool
  /// The languages whose speech this machine recognizes.
  let hears: [String]
  let sync: Sync?
  /// Of the program: the newest of `CHANGELOG.md`, which a test compares.
  let version = "0.1.0"

  private static let mostEntries = 100

  struct Sync: Encodable {
    let space, phase: String
    let unpushed: Int
    let error: String?
  }

  init(of page: TranslatePage, _ talk: String?, in db: Database) throws {
    let (settings, database) = (try Settings(in: db), page.database)
    self.settings = Dictionary(
      uniqueKeysWithValues: Setting.allCases.map { ($0.rawValue, settings[$0]) })
    (stars, recents) = (try Language.starred(in: db), try Language.lastUsed(in: db))
    self.talk = try talk.flatMap { try Conversation.fetchOne(db, key: $0) }
    let newest = try Entry.filter(Column("conversation") == talk ?? "")
      .order(Column("askedAt").desc, Column("id").desc).limit(Self.mostEntries + 1).fetchAll(db)
    (entries, hasMore) = (
      newest.prefix(Self.mostEntries).reversed(), newest.count > Self.mostEntries
    )
    favorites = try Favorite.order(Column("addedAt").desc).limit(1000).fetchAll(db)
    waits = try String.fetchAll(
      db,
      sql: "SELECT id \(TranslateDatabase.isWaiting) AND conversation = ?",
      arguments: [talk ?? ""])
    let job = try database.firstJob(in: db)
    asking = try database.asked(1, in: db).first
    (since, part) = (job.map { Int64($0.since.timeIntervalSince1970 * 1000) }, job?.message)
    standing = try Standing(database, in: db)
    offline = Language.offline
    interpreter =
      page.runsInterpreter
      ? "runs" : settings[.service] == Setting.service.standard && offline.isEmpty ? "missing" : ""
    (canSpeak, hears) = (Speech.isSpoken, Speech.recognized)
    sync = page.sync.map(\.current).map { now in
      Sync(
        space: page.space ?? "", phase: now.phase.rawValue, unpushed: now.unpushed,
        error: now.lastError.map { "\($0)" })
    }
  }
}
