import Testing

/// What `work` gives, which a limit of time has to end: not long before it, and at most ten seconds after, which
/// is room for a busy machine and none for another limit.
///
/// real time: the limits are libcurl's, and URLSession's.
func expectEnd<Value>(
  at limit: Duration, sourceLocation: SourceLocation = #_sourceLocation,
  _ work: () async throws -> Value
) async rethrows -> Value {
  let begin = ContinuousClock.now
  let value = try await work()
  let elapsed = ContinuousClock.now - begin
  #expect(elapsed > limit / 2, "too early", sourceLocation: sourceLocation)
  #expect(elapsed < limit + .seconds(10), "too late", sourceLocation: sourceLocation)
  return value
}
