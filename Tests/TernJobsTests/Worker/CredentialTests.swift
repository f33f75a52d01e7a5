import Foundation
import GRDB
import Synchronization
import Tern
import TernJobs
import TernNetwork
import TernTesting
import Testing

/// Jobs whose credential is not valid any more.
@Suite("Worker: credentials that a service refuses")
struct CredentialTests {
  /// The app's credentials, and the service that takes some of them.
  private final class Vault: Sendable {
    struct State {
      var current: [String: String]
      /// What the app gets instead of another one; what there is no entry for it does not have.
      var others: [String: String] = [:]
      var valid: Set<String> = []
      var asked: [String] = []
      var sent: [String] = []
      var error: (any Error)?
    }

    let state: Mutex<State>

    init(_ current: [String: String], others: [String: String] = [:], valid: Set<String>) {
      state = Mutex(State(current: current, others: others, valid: valid))
    }

    func token(_ lane: String?, insteadOf refused: String?) throws -> String? {
      try state.withLock { state in
        if let refused {
          state.asked.append(refused)
          if let error = state.error { throw error }
          guard let other = state.others[refused] else { return refused }
          state.current[lane ?? ""] = other
          return other
        }
        return state.current[lane ?? ""]
      }
    }

    func send(_ token: String, status: Int = 401) throws {
      try state.withLock { state in
        state.sent.append(token)
        if !state.valid.contains(token) { throw HTTPProblem(status: status) }
      }
    }

    var asked: [String] { state.withLock { $0.asked } }
    var sent: [String] { state.withLock { $0.sent } }
  }

  private func worker(
    _ rig: Rig, _ queue: JobQueue, _ vault: Vault, status: Int = 401, slots: Int = 4,
    pause: Double = 1
  ) -> JobWorker {
    JobWorker(queue, concurrency: slots, path: rig.path) {
      $0.credential(for: Scan.self) { try vault.token($0, insteadOf: $1) }
      $0.handle(Scan.self) { job, context in
        let token = try await context.credential()
        try await rig.sleep(pause)
        try vault.send(token, status: status)
        rig.note("\(job.shelf) done, attempt \(context.attempt)")
      }
    }
  }

  private func enqueue(
    _ rig: Rig, _ queue: JobQueue, _ shelf: String, lane: String? = nil
  ) throws -> JobID {
    try rig.write { try queue.enqueue(Scan(shelf: shelf), lane: lane, in: $0) }
  }

  @Test(arguments: [401, 403])
  func `a credential that has aged costs no attempt, and the app is asked for another once`(
    _ status: Int
  ) throws {
    try Rig.run { rig in
      let vault = Vault(["": "old"], others: ["old": "new"], valid: ["new"])
      let queue = try rig.open()
      let ids = try (1...4).map { try enqueue(rig, queue, "\($0)") }
      try rig.drain(worker(rig, queue, vault, status: status))
      #expect(rig.notes().sorted() == (1...4).map { "2 \($0) done, attempt 1" })
      #expect(vault.asked == ["old"])
      #expect(vault.sent.sorted() == ["new", "new", "new", "new", "old", "old", "old", "old"])
      #expect(try ids.map { try rig.record(queue, $0).starts } == [2, 2, 2, 2])
    }
  }

  /// INV-09: what waits for a credential is not lost, and asks nobody.
  @Test func `without another one the lane waits, and the others go on`() throws {
    try Rig.run { rig in
      let vault = Vault(["ada": "old", "bob": "good"], valid: ["good", "new"])
      let queue = try rig.open()
      let ids = try (1...3).map { try enqueue(rig, queue, "ada \($0)", lane: "ada") }
      _ = try enqueue(rig, queue, "bob", lane: "bob")
      let worker = worker(rig, queue, vault, slots: 1)
      let waits = try rig.perform { try await worker.drain(waiting: .seconds(1000)) }
      #expect(rig.notes() == ["2 bob done, attempt 1"])
      #expect(vault.sent == ["old", "good"] && vault.asked == ["old"])
      #expect(waits.map(\.reason) == [.credential, .credential, .credential])
      let record = try rig.record(queue, ids[0])
      #expect(record.state == .waiting && record.failures == 0 && record.isCredentialRefused)
      #expect(record.reason?.contains("credential") == true)
      // It changes while the worker runs.
      try rig.live(
        worker, until: 2000,
        while: {
          try await rig.sleep(100)
          vault.state.withLock { $0.current["ada"] = "new" }
          try rig.write { try queue.credentialChanged(of: Scan.kind, in: $0) }
        })
      #expect(rig.notes().count == 3)
      #expect(try ids.map { try rig.record(queue, $0).state } == [.done, .done, .done])
      #expect(try !rig.record(queue, ids[0]).isCredentialRefused)
      #expect(vault.sent == ["old", "good", "new", "new", "new"])
    }
  }

  @Test func `an app that says so too early is asked again, and nobody else is`() throws {
    try Rig.run { rig in
      let vault = Vault(["": "old"], valid: [])
      let queue = try rig.open()
      let id = try enqueue(rig, queue, "1")
      try rig.live(
        worker(rig, queue, vault), until: 50,
        while: {
          for _ in 0..<3 {
            try await rig.sleep(10)
            try rig.write { try queue.credentialChanged(in: $0) }
          }
        })
      #expect(vault.sent == ["old"] && vault.asked == ["old", "old", "old", "old"])
      #expect(try rig.record(queue, id).isCredentialRefused)
    }
  }

  @Test func `another one that is refused as well holds the lane, and the app is not asked`()
    throws
  {
    try Rig.run { rig in
      let vault = Vault(["": "a"], others: ["a": "b", "b": "c", "c": "d"], valid: [])
      let queue = try rig.open()
      let id = try enqueue(rig, queue, "1")
      try rig.drain(worker(rig, queue, vault), waiting: .seconds(500))
      #expect(vault.sent == ["a", "b"] && vault.asked == ["a"])
      let record = try rig.record(queue, id)
      #expect(record.state == .waiting && record.isCredentialRefused && record.failures == 0)
      #expect(
        try rig.database.read { try queue.failedAttempts(of: id, in: $0) }.map(\.reason)
          == ["the server answered 401", "the server answered 401"])
    }
  }

  @Test func `what was refused is not sent by another life of the process`() throws {
    try Rig.run { rig in
      let vault = Vault(["": "old"], valid: ["new"])
      let queue = try rig.open()
      let id = try enqueue(rig, queue, "1")
      try rig.drain(worker(rig, queue, vault))
      #expect(vault.sent == ["old"] && vault.asked == ["old"])
      for _ in 0..<3 { try rig.drain(worker(rig, try rig.open(), vault)) }
      #expect(vault.sent == ["old"])
      vault.state.withLock { $0.current[""] = "new" }
      try rig.drain(worker(rig, try rig.open(), vault))
      #expect(vault.sent == ["old", "new"])
      #expect(try rig.record(queue, id).state == .done)
      let left = try rig.database.read {
        try Int.fetchOne($0, sql: "SELECT count(*) FROM grdb_tern_jobcredential")
      }
      #expect(left == 0)
    }
  }

  @Test func `an app that can't ask for another one just now costs no attempt`() throws {
    try Rig.run { rig in
      let vault = Vault(["": "old"], others: ["old": "new"], valid: ["new"])
      vault.state.withLock { $0.error = HTTPProblem(status: 500) }
      let queue = try rig.open()
      let id = try enqueue(rig, queue, "1")
      try rig.live(
        worker(rig, queue, vault), until: 30,
        while: {
          try await rig.sleep(5)
          let record = try rig.record(queue, id)
          #expect(record.unreached > 0 && record.failures == 0 && !record.isCredentialRefused)
          vault.state.withLock { $0.error = nil }
        })
      #expect(rig.notes() == ["9 1 done, attempt 1"])
      #expect(vault.asked.count == 4)
    }
  }

  @Test func `an app that is refused another one, or is signed out, lets the lane wait`() throws {
    for isSignedOut in [false, true] {
      try Rig.run { rig in
        let vault = Vault(isSignedOut ? [:] : ["": "old"], valid: [])
        vault.state.withLock { $0.error = HTTPProblem(status: 400) }
        let queue = try rig.open()
        let id = try enqueue(rig, queue, "1")
        try rig.drain(worker(rig, queue, vault), waiting: .seconds(500))
        #expect(vault.sent == (isSignedOut ? [] : ["old"]))
        let record = try rig.record(queue, id)
        #expect(record.state == .waiting && record.isCredentialRefused && record.failures == 0)
      }
    }
  }

  @Test func `a service that knows better, and a handler with a token of its own, are believed`()
    throws
  {
    try Rig.run { rig in
      let queue = try rig.open()
      let vault = Vault(["": "old"], valid: [])
      let ids = try ["final", "own"].map { try enqueue(rig, queue, $0) }
      let worker = JobWorker(queue, path: rig.path) {
        $0.credential(for: Scan.self) { try vault.token($0, insteadOf: $1) }
        $0.handle(Scan.self) { job, context in
          if job.shelf == "final" { _ = try await context.credential() }
          var problem = HTTPProblem(status: 403)
          problem.retryable = job.shelf == "final" ? false : nil
          throw problem
        }
      }
      try rig.drain(worker)
      #expect(try ids.map { try rig.record(queue, $0).state } == [.failed, .failed])
      #expect(vault.asked.isEmpty)
    }
  }

  @Test func `a failure that the handler itself finds may refuse it too`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let vault = Vault(["": "old"], others: ["old": "new"], valid: [])
      let id = try enqueue(rig, queue, "1")
      let worker = JobWorker(queue, path: rig.path) {
        $0.credential(for: Scan.self) { try vault.token($0, insteadOf: $1) }
        $0.handle(Scan.self) { _, context in
          guard try await context.credential() == "new" else {
            throw JobFailure(.permanent, "signed out", refusesCredential: true)
          }
        }
      }
      try rig.drain(worker)
      #expect(try rig.record(queue, id).state == .done)
    }
  }

  @Test func `a handler whose kind has no credentials fails for good`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let id = try rig.enqueue(queue, Tidy(name: "a"))
      let worker = JobWorker(queue, path: rig.path) {
        $0.handle(Tidy.self) { _, context in _ = try await context.credential() }
      }
      try rig.drain(worker)
      #expect(try rig.record(queue, id).state == .failed)
    }
  }

  /// The answer to an upload comes in a later attempt, which has another credential.
  @Test func `an upload is refused for the credential with which it began`() throws {
    try Rig.run { rig in
      let vault = Vault(["": "old"], others: ["new": "newer"], valid: [])
      let queue = try rig.open()
      let transfers = ScriptedTransfers()
      let id = try rig.enqueuePhoto(queue)
      let worker = JobWorker(queue, path: rig.path, transfers: transfers) {
        $0.credential(for: SendPhoto.self) { try vault.token($0, insteadOf: $1) }
        $0.handle(SendPhoto.self) { _, context in
          let token = try await context.credential()
          var request = HTTPRequest.photo
          request.headers["Authorization"] = "Bearer \(token)"
          _ = try await context.upload("send", request, file: "photo")
        }
      }
      try rig.live(worker, until: 20) {
        try await rig.sleep(5)
        vault.state.withLock { $0.current[""] = "new" }
        transfers.answer(transfers.held[0].id, with: .status(401))
        try await rig.sleep(5)
        let upload = try #require(transfers.held.first)
        #expect(upload.request.headers["Authorization"] == "Bearer new")
        transfers.answer(upload.id, with: .titles)
      }
      #expect(vault.asked.isEmpty && transfers.begun.count == 2)
      let record = try rig.record(queue, id)
      #expect(record.state == .done && record.failures == 0)
    }
  }

  @Test func `observers are told of the refusal, and of the wait`() throws {
    try Rig.observed { rig in
      let vault = Vault(["": "old"], valid: [])
      let queue = try rig.open()
      _ = try enqueue(rig, queue, "1")
      try rig.live(worker(rig, queue, vault), until: 10)
      #expect(
        rig.notes() == [
          "0 #1 enqueued, due in 0.0", "0 #1 started after 0.0 (1, start 1)",
          "1 #1 failed, free, after(0.0 seconds) (1, start 1)",
          "1 #1 started after 0.0 (1, start 2)",
          "1 #1 failed, free, after(0.0 seconds) (1, start 2)", "1 #1 held by credential",
        ])
    }
  }
}
