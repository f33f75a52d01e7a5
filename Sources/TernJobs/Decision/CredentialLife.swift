import TernCore

/// What is known of a lane's credential since one was refused: the app is asked for another once,
/// and when that is refused too, or there is none, the lane is held until it changes. A lane whose
/// credential is accepted has no value.
package struct CredentialLife: Hashable, Sendable {
  package private(set) var since: WallTime
  /// Which one is not to be sent again; `nil` where the app had none.
  package private(set) var refused: CredentialMark?
  /// No job of the lane is started.
  package private(set) var isHeld: Bool

  /// After so long a refusal is the first again: many credentials hold for an hour.
  package static let patience = Duration.seconds(600)

  package init(since: WallTime, refused: CredentialMark?, isHeld: Bool) {
    (self.since, self.refused, self.isHeld) = (since, refused, isHeld)
  }

  package enum Event: Hashable, Sendable {
    /// The service refused it.
    case refused(CredentialMark)
    /// The app has none but the one that is refused already.
    case missing
    /// The service took it.
    case accepted(CredentialMark)
    /// The app says that there may be another, or nobody has looked for a while.
    case changed
  }

  /// - Returns: `nil` for a credential of which nothing bad is known.
  package static func after(
    _ event: Event, _ life: CredentialLife?, at now: WallTime
  ) -> CredentialLife? {
    switch (event, life) {
    case (.refused(let mark), nil):
      // The next attempt asks for another.
      return CredentialLife(since: now, refused: mark, isHeld: false)
    case (.refused(let mark), let life?):
      // It was sent before that was known.
      if mark == life.refused { return life }
      let isFirst = now.duration - life.since.duration >= patience
      return CredentialLife(since: now, refused: mark, isHeld: !isFirst)
    case (.missing, let life):
      return CredentialLife(since: life?.since ?? now, refused: life?.refused, isHeld: true)
    case (.accepted(let mark), let life?): return mark == life.refused ? life : nil
    case (.changed, var life?):
      life.isHeld = false
      return life
    case (_, nil): return nil
    }
  }
}

/// Tells a credential from another, and tells nobody what it is: 32 bits, together with the queue's
/// random id. Two of one mark would cost a question to the app.
package struct CredentialMark: Hashable, Sendable {
  package let value: UInt32

  package init(value: UInt32) {
    self.value = value
  }

  package init(of credential: String, queue: String) {
    var sum = Checksum()
    sum.add(Array("\(queue):\(credential)".utf8))
    value = sum.value
  }
}
