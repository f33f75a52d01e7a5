#if Server
import Logging

/// Ends the event streams whose grant holds no more: it asks for all of them at once, each second.
struct GrantWatch: Sendable {
  let service: SpaceService
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
      stream.listener.grant.map { (stream.listener, $0) }
    }
    guard !streams.isEmpty else { return }
    let clock = service.clock
    var lasting: Set<Grant> = []
    for (listener, grant) in streams {
      if grant.expires.map({ clock.hasPassed($0) }) ?? false {
        listener.finish()
      } else {
        lasting.insert(grant)
      }
    }
    guard !lasting.isEmpty else { return }
    let withdrawn = try await authorizer.withdrawn(lasting)
    for (listener, grant) in streams where withdrawn.contains(grant) { listener.finish() }
  }
}
#endif
