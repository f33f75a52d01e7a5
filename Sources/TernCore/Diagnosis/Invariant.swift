/// What Tern promises; `Docs/Invariants.md` is the list. What is found broken names one.
public enum Invariant: String, Hashable, Sendable, Codable, CaseIterable {
  /// The same operations make the same state, whatever the order and grouping.
  case convergence = "INV-01"
  /// A committed local write is in the state, or was beaten by a named rule.
  case localWritesStay = "INV-02"
  /// What the server acknowledged is on the server, and reaches every authorised replica.
  case acknowledgedIsStored = "INV-03"
  /// A job's effect in the database happens once.
  case effectsHappenOnce = "INV-04"
  /// A cursor never passes an operation that is neither in the state nor visibly put aside, or of a
  /// copy that `forks` names.
  case cursorFollowsState = "INV-05"
  /// An operation is in the state whole or not at all.
  case operationsAreAtomic = "INV-06"
  /// Edits to different columns both stay, counters are sums, no text insertion is lost.
  case intentSurvives = "INV-07"
  /// Nothing crosses spaces without authorisation.
  case spacesAreApart = "INV-08"
  /// When faults stop, everything drains within a bound, without a retry storm.
  case drains = "INV-09"
  /// Queues, memory and metadata stay under declared limits.
  case limitsHold = "INV-10"
  /// Times of accepted operations strictly increase per replica.
  case timesIncrease = "INV-11"
  /// Compaction is noticed only by a replica behind the horizon.
  case compactionIsUnseen = "INV-12"
  /// Nobody writes in the name of a member, and nothing that follows a ban is taken.
  case authorsAreMembers = "INV-13"
  /// A row that lives is shown in its table or listed in the inbox.
  case rowsStayInSight = "INV-14"
  /// A row that does not sync goes only with a parent that is deleted at a pull's end.
  case localRowsStay = "INV-15"
}

extension Invariant: CustomStringConvertible {
  /// `INV-01` to `INV-15`.
  public var description: String { rawValue }
}
