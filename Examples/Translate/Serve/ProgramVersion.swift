/// Which Tern this program comes with.
enum ProgramVersion {
  /// The newest of `CHANGELOG.md`, which a test compares.
  static let current = "0.1.0"
}
