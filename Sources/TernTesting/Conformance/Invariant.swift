/// What Tern promises; `Docs/Invariants.md` is the list. A checker's failure names one.
public enum Invariant: Int, Hashable, Sendable, CaseIterable {
  /// The same operations make the same state, whatever the order and grouping.
  case convergence = 1
  /// A committed local write is in the state, or was beaten by a named rule.
  case localWritesStay = 2
  /// What the server acknowledged is on the server, and reaches every authorised replica.
  case acknowledgedIsStored = 3
  /// A job's effect in the database happens once.
  case effectsHappenOnce = 4
  /// A cursor never passes an operation that is neither in the state nor visibly put aside, or of a
  /// copy that `forks` names.
  case cursorFollowsState = 5
  /// An operation is in the state whole or not at all.
  case operationsAreAtomic = 6
  /// Edits to different columns both stay, counters are sums, no text insertion is lost.
  case intentSurvives = 7
  /// Nothing crosses spaces without authorisation.
  case spacesAreApart = 8
  /// When faults stop, everything drains within a bound, without a retry storm.
  case drains = 9
  /// Queues, memory and metadata stay under declared limits.
  case limitsHold = 10
  /// Times of accepted operations strictly increase per replica.
  case timesIncrease = 11
  /// Compaction is noticed only by a replica behind the horizon.
  case compactionIsUnseen = 12
}

extension Invariant: CustomStringConvertible {
  /// `INV-01` to `INV-12`.
  public var description: String { rawValue < 10 ? "INV-0\(rawValue)" : "INV-\(rawValue)" }
}
