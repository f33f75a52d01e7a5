import Tern

/// A part of Tern that reads bytes from outside, with what must hold whatever they are.
///
/// `script/fuzz` runs it on bytes that libFuzzer makes up, the test suite on the committed corpus.
public struct FuzzTarget: Sendable {
  public enum Outcome: Sendable {
    /// The bytes were read, and everything that was asked of the result held.
    case taken
    /// They were refused with a typed error.
    case refused
  }

  public let name: String
  /// Honest input, from which a corpus begins.
  public let samples: @Sendable () throws -> [[UInt8]]
  /// - Throws: ``FuzzFailure``, and every error that is not the part's own way to refuse.
  public let run: @Sendable (_ bytes: [UInt8]) throws -> Outcome

  public static let all: [FuzzTarget] = [
    .batch, .operation, .body, .text, .apply, .snapshot, .events, .problem, .form, .job, .date,
    .identifier,
  ]
}

/// What did not hold.
public struct FuzzFailure: Error, CustomStringConvertible {
  public let description: String

  init(_ description: String) {
    self.description = description
  }
}

func require(_ condition: @autoclosure () throws -> Bool, _ what: String) throws {
  guard try condition() else { throw FuzzFailure(what) }
}
