import Foundation

// What rows say of transfers is in Store, and what attempts do with them in Worker.

/// What carries on transfers for jobs outside of their attempts, as the queue sees it:
/// names and bytes.
package protocol TransferSystem: Sendable {
  /// Whether a transfer goes on in this process alone, so that who drains waits for it.
  var endsWithProcess: Bool { get }
  /// What it has, or has an answer to, and was not told to forget.
  func ids() async -> Set<String>
  func forget(_ id: String) async
  /// Gives each answer that it was not told to forget, until the task is cancelled.
  func run(_ take: @escaping @Sendable (TransferNews) async -> Void) async
}

/// The end of a transfer.
package struct TransferNews: Sendable {
  package let id: String
  /// Whether it is what the job wanted, and not why that is not to be had.
  package let isDone: Bool
  /// Is stored as it is.
  package let content: Data

  package init(id: String, isDone: Bool, content: Data) {
    (self.id, self.isDone, self.content) = (id, isDone, content)
  }
}

/// What a transfer came to, as its job's handler is given it.
package enum TransferEnd: Sendable {
  case done(Data)
  case refused(Data)
  /// Nobody answered in time.
  case late
}
