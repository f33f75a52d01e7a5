import ExamplePages
import ExampleService
import Foundation
import GRDB
import TernJobs

extension PageAnswer {
  /// What `body` gives, or what a page shows of its error.
  package static func of(_ body: () async throws -> PageAnswer) async -> PageAnswer {
    do {
      return try await body()
    } catch let error as Refusal {
      return .failure("refused", error.description)
    } catch let error as ToolError {
      return .failure(error.isMissing ? "no-tool" : "tool", "\(error)")
    } catch is DecodingError {
      return .failure(
        "misread", "The page and the program do not understand each other; load the page again.")
    } catch {
      // Each says what happened, and what to do.
      guard Ending.of(error) == .disk else { return .failure("failed", "\(error)") }
      hint("\(error)")
      let isFull =
        (error as? DatabaseError)?.resultCode == .SQLITE_FULL
        || (error as? JobQueueError)?.code == .diskFull
      return .failure(
        "disk", isFull ? "the disk is full; free some room" : "the disk fails", passes: true)
    }
  }
}
