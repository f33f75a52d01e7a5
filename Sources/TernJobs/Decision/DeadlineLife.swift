/// A moment that lies a while after somebody asked for it first.
package struct DeadlineLife: Hashable, Sendable, Codable {
  package private(set) var since: WallTime
  package private(set) var until: WallTime

  package init(since: WallTime, until: WallTime) {
    (self.since, self.until) = (since, until)
  }

  /// A clock that shows a time before the beginning was set back: the wait begins anew, so that it
  /// never ends later than its whole length from now.
  package func asked(at now: WallTime) -> DeadlineLife {
    if now >= since { return self }
    let length = until.duration - since.duration
    return DeadlineLife(since: now, until: WallTime(notBefore: now.duration + length))
  }
}
