#if Server
import TernCore

extension HeadBoard {
  /// Listens to all spaces of a credential that are there, as one stream.
  ///
  /// - Parameter heads: reads where spaces are.
  /// - Throws: ``RemoteError`` with `unavailable`, by the name of the limit, or when it is closed;
  ///   what `heads` throws.
  func listen(
    by grants: [Grant], limits: ServerLimits, heads: ([SpaceName]) throws -> [SpaceName: SpaceHead]
  ) throws -> (SpacesListener, AsyncStream<Void>) {
    let (wakes, continuation) = AsyncStream.makeStream(
      of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let number = takeNumber()
    let listener = SpacesListener(grants, continuation, number: number) { [weak self] in
      self?.remove($0, from: $1)
    }
    try add(listener, limits)
    continuation.onTermination = { [weak self, weak listener] _ in
      guard let self, let listener else { return }
      remove(listener)
      listener.finish()
    }
    do {
      if let refusal = try join([listener], limits: limits, heads: heads) { throw refusal }
    } catch {
      listener.finish()
      throw error
    }
    // Its reader hears at once that it listens, also where it is told of nothing.
    listener.remind()
    return (listener, wakes)
  }

  /// Has each listen to those of its spaces that it waits for and that are there now.
  ///
  /// - Returns: the first refusal, by a space that has as many streams as it may. It is waited for.
  func join(
    _ all: [SpacesListener], limits: ServerLimits,
    heads: ([SpaceName]) throws -> [SpaceName: SpaceHead]
  ) throws -> RemoteError? {
    let waiting = Set(all.flatMap(\.waiting).map(\.space))
    let present = waiting.isEmpty ? [] : Array(try heads(Array(waiting)).keys)
    guard !present.isEmpty else { return nil }
    var (refusal, joined) = (RemoteError?.none, [(HeadListener, SpaceName)]())
    for spaces in all {
      for grant in spaces.waiting where present.contains(grant.space) {
        let listener = HeadListener(of: spaces, by: grant)
        if let full = add(listener, to: grant.space, limits) {
          refusal = refusal ?? full
        } else if spaces.add(listener, of: grant.space) {
          joined.append((listener, grant.space))
        } else {
          remove(listener, from: grant.space)
        }
      }
    }
    // Once they are listened to, so that no push falls between the two.
    let now = try heads(present)
    for (listener, space) in joined {
      if let head = now[space] { listener.offer(head) } else { listener.finish() }
    }
    return refusal
  }
}

extension HeadListener {
  /// One that feeds the stream of several spaces.
  fileprivate convenience init(of spaces: SpacesListener, by grant: Grant) {
    self.init(number: spaces.number, by: grant, isOfSeveral: true) { [weak spaces] head in
      spaces?.note(head, of: grant.space)
    } end: { [weak spaces] ending in
      spaces?.end(ending, of: grant.space)
    }
  }
}
#endif
