/// An observer that surrounds handlers too, with task-local values. A public observer does not: it
/// could run one twice, or never.
package protocol JobSurrounding: JobObserver {
  /// Runs the body once, and returns or throws as that does.
  func surround(_ context: JobContext, _ body: () async throws -> Void) async throws
}
