#if Server
import Foundation
import TernCore

@testable import TernServer

/// A file of operators' tokens, with one of Olga's.
struct OperatorsFile {
  private let folder: TemporaryFolder
  let path: String
  /// What Olga sends.
  let olga: String
  private let line: String

  init() throws {
    folder = try TemporaryFolder()
    path = folder.path("operators")
    let made = try Self.make("olga")
    (olga, line) = ("Bearer \(made.token)", made.line)
    try write()
  }

  var tokens: OperatorTokens { get throws { try OperatorTokens(path: path) } }

  static func make(_ name: String, expires: Date? = nil) throws -> OperatorToken {
    var generator = SystemRandomNumberGenerator()
    return OperatorToken(for: try OperatorName(name), expires: expires, using: &generator)
  }

  /// Puts another file in its place.
  ///
  /// - Parameters:
  ///   - more: lines beside Olga's.
  ///   - hasOlga: whether she is in it.
  ///   - rights: who may do what with it.
  func write(_ more: String..., hasOlga: Bool = true, rights: Int = 0o600) throws {
    let lines = ["# Olga, and others", ""] + (hasOlga ? [line] : []) + more
    let url = URL(fileURLWithPath: path)
    try Data(lines.joined(separator: "\n").utf8).write(to: url, options: .atomic)
    try FileManager.default.setAttributes([.posixPermissions: rights], ofItemAtPath: path)
  }
}
#endif
