import Foundation
import Synchronization
import Tern
import TernNetwork
import TernTesting
import Testing

/// Uploads that break while nobody sees the network: they cost nothing, and not for ever.
@Suite("Transfer: breaks while nobody sees the network")
struct UnseenBreakTests {
  private static let lost = TransferAnswer.failure(.connectionLost)

  /// Answers what goes on, over another network than that in which it began.
  private func answer(
    _ rig: Rig, _ transfers: ScriptedTransfers, _ answer: TransferAnswer, hasRoute: Bool = true
  ) async throws {
    while transfers.held.isEmpty { try await rig.sleep(1) }
    rig.path.set(hasRoute: hasRoute)
    transfers.answer(try #require(transfers.held.first).id, with: answer)
    // Until that is stored, and its attempt has failed of it.
    try await rig.sleep(0.5)
  }

  @Test func `after four in a row each one counts, in whichever lives of the process`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let transfers = ScriptedTransfers()
      let id = try rig.enqueuePhoto(queue)
      let worker = rig.photoWorker(queue, transfers)
      try rig.live(worker, until: rig.seconds + 100)
      for failures in [0, 0, 0, 0, 1, 2, 3, 4] {
        // The system launches the app for the answer, and the app hands over the next upload.
        transfers.answer(try #require(transfers.held.first).id, with: Self.lost)
        try rig.live(worker, until: rig.seconds + 100)
        #expect(try rig.record(queue, id).failures == failures)
      }
      #expect(try rig.record(queue, id).state == .failed)
      #expect(transfers.begun.count == 8)
      // Somebody wants it tried afresh.
      try rig.write { db in _ = try queue.retry(id, in: db) }
      try rig.live(worker, until: rig.seconds + 100)
      transfers.answer(try #require(transfers.held.first).id, with: Self.lost)
      try rig.live(worker, until: rig.seconds + 100)
      #expect(try rig.record(queue, id).failures == 0)
      #expect(try rig.record(queue, id).state == .waiting)
    }
  }

  @Test func `another network each time is no excuse for what the system carries`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let transfers = ScriptedTransfers()
      let id = try rig.enqueuePhoto(queue)
      try rig.live(rig.photoWorker(queue, transfers), until: 1000) {
        for failures in [0, 0, 0, 0, 1, 2, 3, 4] {
          try await self.answer(rig, transfers, Self.lost)
          #expect(try rig.record(queue, id).failures == failures)
        }
      }
      #expect(try rig.record(queue, id).state == .failed)
      #expect(transfers.begun.count == 8)
    }
  }

  @Test func `it is one for what the process carries itself`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let transfers = ScriptedTransfers()
      let id = try rig.enqueuePhoto(queue)
      let worker = rig.photoWorker(queue, InProcess(inner: transfers))
      try rig.live(worker, until: 1000) {
        for _ in 1...12 { try await self.answer(rig, transfers, Self.lost) }
        let record = try rig.record(queue, id)
        #expect(record.failures == 0)
        #expect(record.state == .waiting)
      }
      #expect(transfers.begun.count > 12)
    }
  }

  @Test func `without a route none counts`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let transfers = ScriptedTransfers()
      let id = try rig.enqueuePhoto(queue)
      try rig.live(rig.photoWorker(queue, transfers), until: 2000) {
        for _ in 1...8 { try await self.answer(rig, transfers, Self.lost, hasRoute: false) }
        #expect(try rig.record(queue, id).failures == 0)
        try await self.answer(rig, transfers, Self.lost)
        #expect(try rig.record(queue, id).failures == 1)
      }
    }
  }

  @Test func `one that reached nobody is none of them, and an answer begins the count anew`() throws
  {
    try Rig.run { rig in
      let queue = try rig.open()
      let transfers = ScriptedTransfers()
      let id = try rig.enqueuePhoto(queue)
      try rig.live(rig.photoWorker(queue, transfers), until: 3000) {
        for _ in 1...4 {
          try await self.answer(rig, transfers, Self.lost)
          try await self.answer(rig, transfers, .failure(.unreachable))
        }
        #expect(try rig.record(queue, id).failures == 0)
        try await self.answer(rig, transfers, .status(500))
        #expect(try rig.record(queue, id).failures == 1)
        for _ in 1...4 { try await self.answer(rig, transfers, Self.lost) }
        #expect(try rig.record(queue, id).failures == 1)
        try await self.answer(rig, transfers, .failure(.unreachable))
        try await self.answer(rig, transfers, Self.lost)
        #expect(try rig.record(queue, id).failures == 2)
        try await self.answer(rig, transfers, .titles)
      }
      #expect(try rig.record(queue, id).state == .done)
      #expect(try rig.titles() == ["Dune"])
    }
  }
}
