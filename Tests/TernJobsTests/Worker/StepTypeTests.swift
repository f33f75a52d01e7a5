import Foundation
import GRDB
import TernJobs
import Testing

/// No closure of these handlers says a type. That they compile is half of the test.
@Suite("Worker: Swift finds the type of a step's result")
struct StepTypeTests {
  fileprivate struct Page: Codable, Sendable, FetchableRecord, PersistableRecord {
    static let databaseTableName = "book"
    var title: String
  }

  @Test func `a commit of one expression, after work of one expression`() throws {
    let titles = try titles { context in
      _ = try await context.step("text") {
        "text"
      } commit: { db, text in
        try db.execute(sql: "INSERT INTO book VALUES (?)", arguments: [text])
      }
      _ = try await context.step("record") {
        try await find("record")
      } commit: { db, page in
        try page.insert(db)
      }
      _ = try await context.step("array") {
        ["a", "b"]
      } commit: {
        try insert($1, in: $0)
      }
      try await context.step("nothing") {
        _ = try await find("nothing")
      } commit: { db in
        try db.execute(sql: "INSERT INTO book VALUES ('nothing')")
      }
    }
    #expect(titles == ["text", "record", "a", "b", "nothing"])
  }

  @Test func `a commit of one expression, after work of several statements`() throws {
    let titles = try titles { context in
      _ = try await context.step("field") {
        let page = try await find("field")
        return page
      } commit: { db, page in
        try db.execute(sql: "INSERT INTO book VALUES (?)", arguments: [page.title])
      }
      _ = try await context.step("element") {
        var titles: [String] = []
        for title in ["a", "b"] { titles.append(try await find(title).title) }
        return titles
      } commit: { db, titles in
        try db.execute(sql: "INSERT INTO book VALUES (?), (?)", arguments: [titles[0], titles[1]])
      }
      _ = try await context.step("value") {
        let count = 7
        return count
      } commit: {
        try $0.execute(sql: "INSERT INTO book VALUES (?)", arguments: [$1])
      }
      _ = try await context.step("optional", within: .seconds(5)) {
        let page = try await find("optional")
        guard !page.title.isEmpty else { throw JobFailure(.failed, "there is no page") }
        return Optional(page)
      } commit: { db, page in
        try db.execute(sql: "INSERT INTO book VALUES (?)", arguments: [page?.title])
      }
    }
    #expect(titles == ["field", "a", "b", "7", "optional"])
  }

  @Test func `a commit of several statements`() throws {
    let titles = try titles { context in
      _ = try await context.step("loop") {
        ["a", "b"]
      } commit: { db, titles in
        for title in titles {
          try db.execute(sql: "INSERT INTO book VALUES (?)", arguments: [title])
        }
      }
      _ = try await context.step("changed", within: .seconds(5)) {
        let page = try await find("change")
        return ["first": page]
      } commit: { db, pages in
        guard var page = pages["first"] else { throw JobFailure(.failed, "there is no page") }
        page.title += "d"
        try page.insert(db)
      }
      try await context.step("nothing", within: .seconds(5)) {
        let page = try await find("nothing")
        print(page.title)
      } commit: { db in
        let title = "nothing"
        try db.execute(sql: "INSERT INTO book VALUES (?)", arguments: [title])
      }
    }
    #expect(titles == ["a", "b", "changed", "nothing"])
  }

  @Test func `a step with files`() throws {
    let titles = try titles { context in
      let page = try await context.step("made") { files in
        try Data("made".utf8).write(to: files.create("page"))
        return try await find("made")
      } commit: { db, page in
        try db.execute(sql: "INSERT INTO book VALUES (?)", arguments: [page.title])
      }
      _ = try await context.step("read", within: .seconds(5)) { _ in
        let content = try Data(contentsOf: context.file("page"))
        return content.count
      } commit: { db, count in
        try db.execute(sql: "INSERT INTO book VALUES (?)", arguments: ["\(page.title) \(count)"])
      }
      try await context.step("gone") { $0.release("page") }
      try await context.step("two", within: .seconds(5)) { files in
        for name in ["a", "b"] { try Data(name.utf8).write(to: files.create(name)) }
      } commit: { db in
        try db.execute(sql: "INSERT INTO book VALUES ('two')")
      }
      #expect(throws: JobQueueError.self) { try context.file("page") }
      #expect(try String(contentsOf: context.file("b"), encoding: .utf8) == "b")
    }
    #expect(titles == ["made", "made 4", "two"])
  }

  @Test func `what a commit of one expression throws undoes its step`() throws {
    let titles = try titles { context in
      await #expect(throws: DatabaseError.self) {
        try await context.step("field") {
          let page = try await find("x")
          return page
        } commit: { db, page in
          try db.execute(sql: "INSERT INTO shelf VALUES (?)", arguments: [page.title])
        }
      }
      let title = try await context.step("field") { "again" }
      #expect(title == "again")
    }
    #expect(titles.isEmpty)
  }

  /// - Returns: the titles that one job's `handler` left, in the order in which they came.
  private func titles(
    _ handler: @escaping @Sendable (JobContext) async throws -> Void
  ) throws -> [String] {
    var titles: [String] = []
    try Rig.run { rig in
      let queue = try rig.open()
      let id = try rig.enqueue(queue, Tidy(name: ""))
      let worker = JobWorker(queue) {
        $0.handle(Tidy.self) { _, context in try await handler(context) }
      }
      try rig.drain(worker)
      #expect(try rig.record(queue, id).state == .done)
      titles = try rig.titles()
    }
    return titles
  }
}

private func find(_ title: String) async throws -> StepTypeTests.Page {
  StepTypeTests.Page(title: title)
}

private func insert(_ titles: [String], in db: Database) throws {
  for title in titles {
    try db.execute(sql: "INSERT INTO book VALUES (?)", arguments: [title])
  }
}
