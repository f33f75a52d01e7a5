#if Server
import Logging

/// Ends the event streams whose grant holds no more: it asks for all of them at once, each second.
/// From those of several spaces it takes what they lost, and adds what they gained.
struct GrantWatch: Sendable {
  let service: SpaceService
  let queue: StoreQueue
  let authorizer: any Authorizer
  let times: PeriodicCheck.Times
  let logger: Logger

  /// Returns when its task is cancelled.
  func run() async {
    await PeriodicCheck(
      failure: "whether event streams are still allowed is not known", times: times, logger: logger
    ) {
      try await check()
    } onSilence: {
      service.board.finishAll()
    }.run()
  }

  func check() async throws {
    let streams = service.board.streams.compactMap { stream in
      stream.listener.isOfSeveral ? nil : stream.listener.grant.map { (stream.listener, $0) }
    }
    let several = service.board.ofSeveral
    let held = Set(streams.map(\.1))
    let heldTogether = Set(several.flatMap(\.grants))
    let gained = heldTogether.isEmpty ? [] : try await authorizer.gained(beside: heldTogether)
    let all = held.union(heldTogether)
    var lost = all.filter { grant in grant.expires.map { service.clock.hasPassed($0) } ?? false }
    let lasting = all.subtracting(lost)
    if !lasting.isEmpty { lost.formUnion(try await authorizer.withdrawn(lasting)) }
    for (listener, grant) in streams where lost.contains(grant) { listener.finish() }
    guard !several.isEmpty else { return }
    for spaces in several {
      spaces.gain(gained, atMost: service.limits.spacesPerStream)
      spaces.lose(spaces.grants.filter(lost.contains))
    }
    _ = try await queue.read {
      try service.board.join(several, limits: service.limits) { try service.store.heads(of: $0) }
    }
  }
}
#endif
