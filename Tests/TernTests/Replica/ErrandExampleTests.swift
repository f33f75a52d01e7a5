import Foundation
import GRDB
import Observation
import Synchronization
import Tern
import TestDevice
import Testing

/// The models of Docs/SwiftUI.md, without their views.
@Suite("Replica: an app in SwiftUI", .timeLimit(.minutes(1)))
struct ErrandExampleTests {
  private struct Full: Error, LocalizedError {
    var errorDescription: String? { "the disk is full" }
  }

  @MainActor private func withParts(_ body: @MainActor (ErrandParts, String) async throws -> Void)
    async throws
  {
    try await withFolder { folder in
      let path = "\(folder)/errands.sqlite"
      try await body(Self.parts(path), path)
    }
  }

  @MainActor private func withFolder(_ body: @MainActor (String) async throws -> Void) async throws
  {
    let folder = FileManager.default.temporaryDirectory.appending(path: "errands-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try await body(folder.path)
  }

  private static func parts(_ path: String) async throws -> ErrandParts {
    try await ErrandParts(path: path, server: URL(string: "http://127.0.0.1:1")!, token: { "" })
  }

  /// Waits until a model says so.
  @MainActor private func wait(until isSo: @MainActor () -> Bool) async {
    while true {
      let (changes, signal) = AsyncStream.makeStream(of: Void.self)
      let isNow = withObservationTracking {
        isSo()
      } onChange: {
        signal.yield()
      }
      if isNow { return }
      // It comes before the change, which is over when this actor is free again.
      for await _ in changes { break }
    }
  }

  @Test @MainActor func `an opening that fails says why, and can be repeated`() async throws {
    try await withFolder { folder in
      let isFull = Mutex(true)
      let model = ErrandModel {
        if isFull.withLock({ $0 }) { throw Full() }
        return try await Self.parts("\(folder)/errands.sqlite")
      }
      guard case .loading = model.opening else { throw Full() }
      #expect(await !refreshErrands(model))
      guard case .failed("the disk is full") = model.opening else { throw Full() }
      isFull.withLock { $0 = false }
      async let first: Void = model.open()
      async let second: Void = model.open()
      _ = await (first, second)
      #expect(model.parts != nil)
      // Nobody is there.
      #expect(await !refreshErrands(model))
    }
  }

  @Test @MainActor func `rows are moved to where a list shows them`() async throws {
    try await withParts { parts, _ in
      let list = ErrandList(parts)
      let following = Task { await list.follow() }
      defer { following.cancel() }
      var expected = ["a", "b", "c", "d", "e"]
      for title in expected { await list.add(title) }
      await wait { list.errands.map(\.title) == expected }
      for (source, destination) in [
        ([0], 5), ([4], 0), ([1, 3], 3), ([0, 2, 4], 1), ([2], 2), ([2], 3), ([3, 4], 0), ([0], 2),
      ] as [(IndexSet, Int)] {
        let moved = source.map { expected[$0] }
        let above = expected[..<destination].indices.filter { !source.contains($0) }.count
        expected = expected.indices.filter { !source.contains($0) }.map { expected[$0] }
        expected.insert(contentsOf: moved, at: above)
        await list.move(source, to: destination)
        await wait { list.errands.map(\.title) == expected }
      }
      await list.delete([0, 4])
      await wait { list.errands.map(\.title) == Array(expected[1..<4]) }
      #expect(list.problem == nil)
    }
  }

  @Test @MainActor func `what a widget writes is in the list once it is sealed`() async throws {
    try await withParts { parts, path in
      let list = ErrandList(parts)
      let following = Task { await list.follow() }
      defer { following.cancel() }
      for title in ["a", "b"] { await list.add(title) }
      await wait { list.errands.count == 2 }
      try await parts.replica.seal()
      try await finishErrand(list.errands[0].id, openErrandsForWidget(path))
      #expect(try await parts.replica.seal().count == 1)
      await wait { list.errands.map(\.title) == ["b"] }
    }
  }

  @Test @MainActor func `a note has what is typed and what others write`() async throws {
    try await withParts { parts, _ in
      let errand = Errand(title: "a", note: "milk")
      try await parts.database.write { try errand.insert($0) }
      try await parts.replica.seal()
      let note = NoteModel(parts, errand)
      let following = Task { await note.follow() }
      defer { following.cancel() }
      await wait { note.text == "milk" }
      note.text = "milk, bread"
      try await parts.database.write { try $0.execute(sql: "UPDATE errand SET note = 'oat milk'") }
      try await parts.replica.seal()
      await wait { note.text == "oat milk, bread" }
      #expect(
        try await parts.database.read { try String.fetchOne($0, sql: "SELECT note FROM errand") }
          == "oat milk, bread")
      try await parts.database.write { try $0.execute(sql: "DELETE FROM errand") }
      note.text = "oat milk, bread, jam"
      note.save()
      #expect(note.problem != nil && note.text == "oat milk, bread, jam")
    }
  }

  @Test @MainActor func `the inbox has what lost, until it is dismissed`() async throws {
    try await withParts { parts, _ in
      let inbox = InboxModel(parts)
      let following = Task { await inbox.follow() }
      defer { following.cancel() }
      let errand = Errand(title: "a")
      try await parts.database.write { try errand.insert($0) }
      try await withFolder { folder in
        let other = try await Self.parts("\(folder)/other.sqlite")
        try await other.database.write {
          try Errand(id: errand.id, title: "b").insert($0)
        }
        try await other.replica.seal()
        let peer = Device(other.database, other.replica)
        try Device(parts.database, parts.replica).pull(from: peer)
      }
      await wait { inbox.entries.count == 1 }
      await inbox.dismiss(inbox.entries[0])
      await wait { inbox.entries.isEmpty }
      #expect(inbox.problem == nil)
    }
  }
}
