import Foundation
import GRDB
import Tern
import TernJobs

/// What the page shows of a conversation, and of how the program stands. Times are milliseconds since
/// 1970, but those of entries.
struct PageState: Encodable {
  let settings: [String: String]
  /// What this device's own settings are unless chosen.
  let standard: [String: String]
  /// Languages: the favorites, and those that were used last.
  let stars, recents: [String]
  let talk: Chat.Conversation?
  /// The newest of the conversation, in their order.
  let entries: [Entry]
  let hasMore: Bool
  /// Those of them that are kept.
  let kept: [String]
  /// To which service each of them goes that waits here.
  let waits: [String: String]
  /// What there is of answers that are coming.
  let parts: [String: String]
  /// When those are likely to be there that services are asked for, where that can be told.
  let expected: [String: ExpectedAnswer]
  let lines: [Line]
  let waiting: Int
  /// From which languages into which this machine translates by itself.
  let offline: [[String]]
  /// Whether the interpreter runs in this program, is not installed, or isn't needed.
  let interpreter: Interpreter
  /// Whether `espeak-ng` is installed.
  let canSpeak: Bool
  /// The languages whose speech this machine recognizes.
  let hears: [String]
  let sync: Sync?
  /// Of the program.
  let version: String

  enum Interpreter: String, Encodable {
    case runs, missing, other
  }

  /// Of what waits for a service.
  struct Line: Encodable {
    let service, state: String
    let until: Int64?
    let reason: String?
  }

  struct Sync: Encodable {
    let space, phase: String
    let unpushed: Int
    let error: String?
  }

  private static let mostEntries = 100

  init(of page: TranslatePage, _ talk: String?, in db: Database) throws {
    let settings = try Settings(in: db)
    self.settings = Dictionary(
      uniqueKeysWithValues: Setting.allCases.map { ($0.rawValue, settings[$0]) })
    standard = Dictionary(
      uniqueKeysWithValues: Setting.allCases.filter(\.isLocal).map { ($0.rawValue, $0.standard) })
    (stars, recents) = (try Language.starred(in: db), try Language.lastUsed(in: db))
    self.talk = try talk.flatMap {
      try Chat.Conversation.fetchOne(
        db, sql: "SELECT * FROM conversation WHERE id = ?", arguments: [$0])
    }
    let newest = try talk.map { try Entry.newest(Self.mostEntries + 1, in: $0, db) } ?? []
    (entries, hasMore) = (Array(newest.suffix(Self.mostEntries)), newest.count > Self.mostEntries)
    kept = try PageHistory.kept(in: db)
    let waits = try Row.fetchAll(
      db,
      sql: """
        SELECT phrase, coalesce(service, ?) FROM waiting JOIN phrase ON id = phrase
        WHERE conversation = ?
        """, arguments: [settings[.service], talk ?? ""])
    let services = Dictionary(
      uniqueKeysWithValues: waits.map { ($0[0] as String, $0[1] as String) })
    self.waits = services
    let jobs = try Row.fetchAll(db, sql: "SELECT phrase, job FROM waiting WHERE job IS NOT NULL")
    let asked = Dictionary(uniqueKeysWithValues: jobs.map { ($0[0] as String, $0[1] as Int64) })
    parts = page.coming.texts(of: Set(asked.keys)).filter { services[$0.key] != nil }
    expected = try asked.filter { services[$0.key] != nil }.compactMapValues { id in
      guard let job = try page.database.jobs.record(JobID(rawValue: id), in: db) else { return nil }
      return try ExpectedAnswer(of: job, in: db)
    }
    let standing = try Standing(page.database, in: db)
    let now = Date()
    (lines, waiting) = (standing.lines.map { Line($0, now: now) }, standing.waiting)
    offline = Offline.all
    interpreter =
      page.runsInterpreter
      ? .runs : settings[.service] == OwnInterpreter.address && offline.isEmpty ? .missing : .other
    (canSpeak, hears, sync) = (Speaker.isInstalled, Listener.languages, page.syncing)
    version = ProgramVersion.current
  }
}

extension PageState.Line {
  init(_ line: Standing.Line, now: Date) {
    let (state, reason) = line.cause.named
    self.init(
      service: line.service, state: state,
      until: line.cause.until.map { Int64($0.timeIntervalSince1970 * 1000) }, reason: reason)
  }
}

/// The history, or what is found in it, with what of it is kept.
struct PageHistory: Encodable {
  /// The newest first, or the best.
  let entries: [Entry]
  let kept: [String]

  init(_ words: String, in db: Database) throws {
    entries =
      words.allSatisfy(\.isWhitespace)
      ? try Entry.newest(TranslateDatabase.mostPhrases, in: nil, db).reversed()
      : try History.search(words, in: db)
    kept = try Self.kept(in: db)
  }

  /// The questions whose translations are among the favorites.
  static func kept(in db: Database) throws -> [String] {
    try String.fetchAll(
      db,
      sql: """
        SELECT phrase.id FROM favorite
        JOIN phrase ON phrase.text = favorite.text AND phrase.target = favorite.target
        JOIN answer ON answer.phrase = phrase.id
          AND coalesce(answer.source, phrase.source) = favorite.source
        """)
  }
}

/// A language as the page lists it.
struct PageLanguage: Encodable {
  let code, native, name: String
  /// Of the part of the world in which most speak it, by the reader's name, and the flag of the country.
  let region, flag: String

  static func all(in reader: String) -> [PageLanguage] {
    let locale = Locale(identifier: reader)
    return Language.all.map { language in
      let likely = Locale.Language(identifier: language.code).maximalIdentifier
      let country = Locale.Language(identifier: likely).region
      let continent = country?.continent?.identifier
      return PageLanguage(
        code: language.code, native: language.native,
        name: locale.localizedString(forLanguageCode: language.code) ?? language.code,
        region: continent.flatMap(locale.localizedString(forRegionCode:)) ?? "",
        flag: continent == nil ? "" : flag(country?.identifier ?? ""))
    }
  }

  /// - Source: Unicode Technical Standard #51, annex B, "Valid emoji flag sequences".
  private static func flag(_ country: String) -> String {
    let letters = country.unicodeScalars.compactMap { Unicode.Scalar($0.value + 0x1F1A5) }
    return country.utf8.count == 2 ? String(String.UnicodeScalarView(letters)) : ""
  }
}
