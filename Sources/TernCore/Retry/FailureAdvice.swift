/// What a failure says about doing the same again.
public enum FailureAdvice: Hashable, Sendable {
  /// No repetition helps: the request, the data or the credentials have to change first.
  case permanent
  /// The other side answered that it failed. Another attempt may succeed; this one counts.
  case failed
  /// The exchange had begun and broke off. It counts as an attempt, unless the network was the
  /// reason: away, or changed while the exchange ran.
  ///
  /// - Parameter isLocal: the other side is this very machine, for which the network is no excuse.
  case interrupted(isLocal: Bool)
  /// Nobody was reached, so nothing happened there: not counted, however often.
  case unreachable
  /// The other side wants no requests of this kind for a while. Not counted.
  ///
  /// - Parameter delay: how long, from the answer's arrival; `nil` where it did not say.
  case limited(delay: Duration?)
}

/// An error that knows what it says about doing the same again.
public protocol AdvisingError: Error {
  var advice: FailureAdvice { get }
  /// Whether the other side refused the credential, so that the same with another one may succeed.
  /// It counts where ``advice`` is ``FailureAdvice/permanent``. By default `false`.
  var refusesCredential: Bool { get }
}

extension AdvisingError {
  public var refusesCredential: Bool { false }
}
