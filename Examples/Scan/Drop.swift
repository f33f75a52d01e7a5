import ArgumentParser
import ExampleService
import GRDB
import Tern

struct Drop: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Forget photos, whatever became of them; their books stay in the library.")

  @OptionGroup var file: DataFile
  @Argument(help: "Names, as `scan status` shows them.") var photos: [String]

  func run() async throws {
    let database = try await file.open()
    var unknown: [String] = []
    for name in photos {
      let count = try await database.pool.write { db in
        let ids = try Int64.fetchAll(
          db, sql: "SELECT id FROM scan WHERE name = ?", arguments: [name])
        for id in ids { try database.forget(id, in: db) }
        return ids.count
      }
      if count > 0 { say("\(count) dropped: \(name.shown())") } else { unknown.append(name) }
    }
    guard unknown.isEmpty else {
      let names = unknown.map { $0.shown() }.joined(separator: ", ")
      throw Refusal("there is no photo \(names); `scan status` lists them")
    }
  }
}
