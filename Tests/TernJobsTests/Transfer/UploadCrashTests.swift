#if Rehearsal
import Foundation
import GRDB
import Synchronization
import Tern
@_spi(Rehearsal) import TernCore
import TernTesting
import Testing

/// The process dies between any two steps of an upload, and what it is for happens once (INV-04).
@Suite("Transfer: a process that dies between two steps of an upload")
struct UploadCrashTests {
  private struct Dead: Error {}

  /// How the service's answer comes in, beside the deaths.
  enum Weather: CaseIterable {
    /// As the upload is begun.
    case atOnce
    /// While no process lives.
    case betweenLives
    /// As above, and once more in each life that follows.
    case againAndAgain
    /// The system loses the first upload, which the service has got.
    case lost
  }

  private struct Story {
    var hasDied = false
    var lives = 0
  }

  private func check(_ point: CrashPoint?, _ count: Int, _ weather: Weather) throws -> Story {
    var story = Story()
    try Rig.run(seed: UInt64(count)) { rig in
      let service = PhotoService()
      let transfers = ScriptedTransfers { weather == .atOnce ? service.serve($0) : nil }
      let reached = Mutex(0)
      let isDead = Mutex(false)
      let handler: CrashPoint.Handler = { now in
        if now == point {
          let times = reached.withLock { times in
            times += 1
            return times
          }
          if times == count { isDead.withLock { $0 = true } }
        }
        // Whatever the dead still do must not be committed.
        if isDead.withLock({ $0 }) { throw Dead() }
      }
      let queue = try rig.open()
      let ids = try ["one", "two"].map { try rig.enqueuePhoto(queue, $0) }
      for life in 1...12 {
        story.lives = life
        let opened = try rig.open()
        do {
          try CrashPoint.with(handler) {
            try rig.live(rig.photoWorker(opened, transfers), until: Double(life) * 10)
          }
        } catch is Dead {}
        if isDead.withLock({ $0 }) {
          story.hasDied = true
          isDead.withLock { $0 = false }
        }
        if try ids.allSatisfy({ try rig.record(opened, $0).state == .done }) { break }
        switch weather {
        case .atOnce: break
        case .betweenLives, .againAndAgain:
          for upload in transfers.held { transfers.answer(upload.id, with: service.serve(upload)) }
        case .lost:
          for upload in transfers.held {
            let answer = service.serve(upload)
            transfers.lose(upload.id)
            if life > 1 { transfers.answer(upload.id, with: answer) }
          }
        }
        if weather == .againAndAgain {
          for upload in transfers.begun { transfers.answer(upload.id, with: service.serve(upload)) }
        }
      }
      // Beyond the last death; what nobody wants any more is forgotten by now.
      try rig.live(rig.photoWorker(rig.open(), transfers), until: 200)
      #expect(try ids.map { try rig.record(queue, $0).state } == [.done, .done])
      #expect(try rig.titles().sorted() == ["title of one", "title of two"], "rows not once")
      #expect(service.effects.sorted() == ["one", "two"], "effects not once")
      // What the system never lost is handed over once.
      if weather == .atOnce { #expect(service.requests.count == 2, "begun twice") }
      #expect(try ids.map { try rig.record(queue, $0).failures } == [0, 0])
      #expect(
        rig.notes().allSatisfy { $0.hasSuffix("attempt 1") || $0.hasSuffix("done") },
        "a death cost an attempt")
      #expect(transfers.ids().isEmpty, "the system keeps what nobody wants")
      let parts = try rig.database.read { db in
        try Int.fetchOne(db, sql: "SELECT count(*) FROM grdb_tern_jobcheckpoint")
      }
      #expect(parts == 0)
    }
    return story
  }

  @Test(arguments: CrashPoint.ofUploads, Weather.allCases)
  func `whatever was under way happens once`(_ point: CrashPoint, _ weather: Weather) throws {
    var deaths = 0
    while try check(point, deaths + 1, weather).hasDied { deaths += 1 }
    #expect(deaths >= 2, "\(point.rawValue) is hardly reached")
  }

  @Test(
    arguments: CrashPoint.ofJobs.filter { $0.rawValue.contains("finish") },
    [Weather.atOnce, .betweenLives])
  func `an attempt that dies as it lets go begins nothing twice`(
    _ point: CrashPoint, _ weather: Weather
  ) throws {
    var deaths = 0
    while try check(point, deaths + 1, weather).hasDied { deaths += 1 }
    #expect(deaths >= 2)
  }
}
#endif
