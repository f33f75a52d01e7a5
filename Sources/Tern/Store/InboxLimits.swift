/// How much the conflict inbox keeps. The oldest go first, when something is added.
public struct InboxLimits: Hashable, Sendable {
  /// The most entries.
  public var entries: Int
  /// The most bytes of all their values together.
  public var bytes: Int
  /// How long one is kept at least while the others allow it.
  public var age: Duration

  /// - Parameters:
  ///   - entries: 0 keeps nothing.
  ///   - age: 90 days unless told.
  public init(entries: Int = 1000, bytes: Int = 16 << 20, age: Duration = .seconds(90 * 86400)) {
    self.entries = max(0, entries)
    self.bytes = max(0, bytes)
    self.age = age
  }
}
