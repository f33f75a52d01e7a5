/// What a commit that returned survives.
///
/// Either way a transaction is in the database whole or not at all, and losing power leaves a
/// sound file: only the last commits can be missing.
///
/// - Note: On Apple's systems a commit is `.powerLoss` through `F_FULLFSYNC`, which is set but has
///   only been tested on Linux, where it does nothing.
public enum Durability: String, Hashable, Sendable, CaseIterable {
  /// A commit that returned survives losing power.
  ///
  /// Each commit waits for the disk: from 0.1 milliseconds to several, whatever its size.
  case powerLoss

  /// A commit that returned survives the death of the process, but the last ones may be lost with
  /// the power or with the operating system.
  case processCrash
}
