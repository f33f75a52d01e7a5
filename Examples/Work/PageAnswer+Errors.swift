import ExamplePages
import ExampleService
import Foundation
import GRDB

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
      let isDisk = Ending.of(error) == .disk
      let words = isDisk && error is DatabaseError ? "the disk is full or fails" : "\(error)"
      return .failure(isDisk ? "disk" : "failed", words, passes: isDisk)
    }
  }
}
