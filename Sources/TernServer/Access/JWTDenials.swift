#if JWTs
import Foundation
import TernCore

/// Whom an operator denies before their tokens expire: a file with a line for each.
///
/// ```text
/// # Anna's stolen phone
/// jti 8e0c6a52
/// sub bob@example.org
/// ```
actor JWTDenials {
  private struct List {
    var ids: Set<String> = []
    var subjects: Set<String> = []
  }

  private let path: String?
  private let queue = StoreQueue(waitingPerSpace: 0)
  private let now: @Sendable () -> ContinuousClock.Instant
  private var list = List()
  private var read: ContinuousClock.Instant?
  /// So long a list is not read again.
  private static let age = Duration.seconds(1)

  /// - Parameter path: the file; `nil` denies nobody.
  init(
    path: String?, now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
  ) {
    (self.path, self.now) = (path, now)
  }

  /// Which of some tokens are denied. Where the list can't be read, nobody knows.
  ///
  /// - Throws: ``JWTDenialError``.
  func denied(_ tokens: [(subject: String, id: String?)]) async throws -> [Bool] {
    try await refresh()
    return tokens.map { token in
      list.subjects.contains(token.subject) || token.id.map { list.ids.contains($0) } ?? false
    }
  }

  func refresh() async throws {
    guard let path else { return }
    let start = now()
    if let read, start - read < Self.age { return }
    let text = try await queue.read {
      guard let data = FileManager.default.contents(atPath: path),
        let text = String(data: data, encoding: .utf8)
      else { throw JWTDenialError("\(path) can't be read; put it back, empty to deny nobody") }
      return text
    }
    list = try Self.parse(text, path)
    read = start
  }

  private static func parse(_ text: String, _ path: String) throws -> List {
    var list = List()
    let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    for (number, line) in lines.enumerated() {
      let line = line.trimmingCharacters(in: .whitespaces)
      if line.isEmpty || line.hasPrefix("#") { continue }
      let words = line.split(maxSplits: 1, whereSeparator: \.isWhitespace)
      let value = words.count == 2 ? words[1].trimmingCharacters(in: .whitespaces) : ""
      switch (words.first, value.isEmpty) {
      case ("jti", false): list.ids.insert(value)
      case ("sub", false): list.subjects.insert(value)
      default:
        throw JWTDenialError("\(path), line \(number + 1): write 'jti ID' or 'sub NAME'")
      }
    }
    return list
  }
}

/// Why nobody knows whose tokens are denied.
public struct JWTDenialError: Error, Hashable, Sendable {
  public let message: String

  init(_ message: String) { self.message = message }
}

extension JWTDenialError: CustomStringConvertible {
  public var description: String { "the list of denied tokens: \(message)" }
}

extension JWTDenialError: LocalizedError {
  public var errorDescription: String? { description }
}
#endif
