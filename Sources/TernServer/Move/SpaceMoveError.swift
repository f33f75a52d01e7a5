#if Server
import Foundation
import TernCore

/// Why a space was not moved, or not to its end. It is served by one store at the most, and nothing
/// of it is lost.
package struct SpaceMoveError: Error, Hashable, Sendable {
  package struct Code: Hashable, Sendable {
    fileprivate let name: String

    /// Both ends are one store.
    package static let sameStore = Code(name: "same-store")
    /// The store from which it is to come has no such space.
    package static let absent = Code(name: "absent")
    /// The store to which it is to go has a space of that name, or a token of it.
    package static let taken = Code(name: "taken")
    /// It is on its way from or to a third store.
    package static let elsewhere = Code(name: "elsewhere")
    /// What is to be moved is not whole.
    package static let damaged = Code(name: "damaged")
    /// What was copied is not what there is.
    package static let differs = Code(name: "differs")
    /// Another move or a removal came between.
    package static let interrupted = Code(name: "interrupted")
    /// The move is over, and can't be taken back.
    package static let over = Code(name: "over")
  }

  package let code: Code
  /// What happened, to which space, and what to do.
  package let message: String

  init(_ code: Code, _ message: String) {
    (self.code, self.message) = (code, message)
  }
}

extension SpaceMoveError: CustomStringConvertible {
  package var description: String { message.shown() }
}

extension SpaceMoveError: LocalizedError {
  package var errorDescription: String? { description }
}
#endif
