/// Why a file is no catalogue.
public struct CatalogueError: Error, Hashable, Sendable, CustomStringConvertible {
  /// From 1.
  public let line: Int
  public let reason: String

  package init(line: Int, reason: String) { (self.line, self.reason) = (line, reason) }

  public var description: String { "line \(line): \(reason)" }
}
