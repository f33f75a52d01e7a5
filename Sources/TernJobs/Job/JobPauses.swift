/// What is not to be started until it is resumed.
public struct JobPauses: Hashable, Sendable {
  /// Every kind.
  public var all: Bool
  public var kinds: Set<String>

  public init(all: Bool = false, kinds: Set<String> = []) {
    (self.all, self.kinds) = (all, kinds)
  }

  /// Whether jobs of a kind are not started.
  public func isPaused(_ kind: String) -> Bool { all || kinds.contains(kind) }
}
