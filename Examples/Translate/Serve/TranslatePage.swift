import ExamplePages
import ExampleService
import ExampleWork
import Foundation
import GRDB
import Tern
import TernJobs

/// What stands behind the page of `translate serve`.
struct TranslatePage: PageProgram {
  let database: TranslateDatabase
  let coming: ComingAnswers
  let speaker: Speaker
  let listener: Listener
  /// Whether the interpreter runs in this process, for questions to nobody else.
  let runsInterpreter: Bool
  /// Where a server was named, how the sync with it stands, and which space of which server it is.
  let sync: SyncStatus?
  let space: String?

  func answer(_ request: PageRequest) async -> PageAnswer {
    do {
      return request.isChange ? try await change(request) : try await read(request)
    } catch let error as Refusal {
      return .failure("refused", error.description)
    } catch let error as DatabaseError
      where [.SQLITE_FULL, .SQLITE_IOERR].contains(error.resultCode)
    {
      return .failure("disk", Word.fullDisk.text)
    } catch is DecodingError {
      return .failure("misread", Word.misread.text)
    } catch {
      return .failure("failed", "\(error)")
    }
  }

  // MARK: - Reading

  private func read(_ request: PageRequest) async throws -> PageAnswer {
    switch request.path {
    case "state": return try PageAnswer(try await state(request.query["talk"]))
    case "history":
      let words = request.query["search"] ?? ""
      return try PageAnswer(try await database.pool.read { try PageHistory(words, in: $0) })
    case "favorites":
      return try PageAnswer(
        try await database.pool.read { db in
          try Favorites.Favorite.fetchAll(db, sql: "SELECT * FROM favorite ORDER BY addedAt DESC")
        })
    case "languages":
      return try PageAnswer(PageLanguage.all(in: request.query["in"] ?? "en"))
    case "pronunciation":
      let id = request.query["id"] ?? ""
      let entry = try await database.pool.read { try Entry.find(id, in: $0) }
      guard let entry, let text = entry.translation else { return .unknown }
      let said = await Speaker.pronunciation(of: String(text.prefix(500)), in: entry.to)
      return try PageAnswer(["text": said ?? ""])
    case "speech": return try await speech(request.query["id"] ?? "")
    default: return .unknown
    }
  }

  private func speech(_ id: String) async throws -> PageAnswer {
    let (text, language, rate) = try await spoken(id)
    return switch await SpokenSound.of(text, in: language, rate: rate) {
    case .wave(let sound): PageAnswer(sound, type: "audio/wav")
    // The page has the program speak then, and says nothing of it.
    case .long: .failure("long", "the sound is longer than a page can hold")
    case .failed: throw Refusal(Word.speakerFails.text)
    }
  }

  private func state(_ talk: String?) async throws -> PageState {
    try await database.pool.read { try PageState(of: self, talk, in: $0) }
  }

  /// How the sync stands, in words for the page.
  var syncing: PageState.Sync? {
    guard let sync, let space else { return nil }
    let now = sync.current
    return PageState.Sync(
      space: space, phase: now.phase.rawValue, unpushed: now.unpushed,
      error: now.lastError.map { "\($0)" })
  }

  // MARK: - News

  /// Tells of every commit to the file, this process's and others', and of what comes of answers.
  func watch(_ tell: @escaping @Sendable (PageNews) -> Void) async {
    await withTaskGroup(of: Void.self) { tasks in
      for hints in [coming.news(), database.jobs.announcements()] {
        tasks.addTask { for await _ in hints { tell(.changed) } }
      }
      if let sync {
        tasks.addTask { for await _ in sync.updates { tell(.changed) } }
      }
      await PageNews.follow(database.pool, tell)
      tasks.cancelAll()
    }
  }
}
