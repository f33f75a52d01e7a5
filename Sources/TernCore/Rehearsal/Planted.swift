import Synchronization

#if Rehearsal
#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif
#endif

/// Bugs that the simulation must catch, compiled in by the package trait `Rehearsal` alone.
///
/// Each stands at the one line where it would be made, so that the checkers are themselves tested.
package enum Planted: String, CaseIterable, Sendable {
  /// The server answers a push before its transaction is durable.
  case acknowledgeBeforeCommit
  /// Equal times are ordered by something that differs between replicas.
  case unstableTieBreak
  /// The cursor moves although the page was not merged whole.
  case cursorEarly
  /// A merged difference is added twice.
  case counterCountedTwice
  /// A seal removes notes that it did not read.
  case noteLost
  /// A seal gives all that it seals the time of its last note.
  case burstsTogether
  /// A removal from a set covers additions that its author had not seen.
  case removalCoversUnseen
  /// Texts inserted beside one element stand in the order in which they came.
  case textByArrival
  /// What is removed from a text takes along what somebody else inserted behind it.
  case removalTakesNeighbour
  /// A change brings a deleted row back although the delete had seen it.
  case deleteForgotten
  /// Of rows that collide in a UNIQUE index the first to arrive is shown.
  case uniqueByArrival
  /// What waits for a row is not looked at when that changes.
  case heldNotWoken
  /// A row that lost its place in a UNIQUE index is not in the inbox.
  case displacedUnlisted
  /// Behind a page that writes to one table nothing is looked at that waits.
  case pageUnsettled
  /// The rows that a REPLACE removes through a UNIQUE index are not noted.
  case replaceUnnoted
  /// Two devices give rows at the same spot the same order key.
  case orderTailMissing
  /// What the log has and a loaded snapshot lacks is not merged again.
  case snapshotTailLost
  /// A copy that takes a new id drops what it wrote alone.
  case copyForgets
  /// It goes on pulling where it was.
  case copyKeepsCursor
  /// Where its log was trimmed, what it wrote before the copy was made becomes the new id's too.
  case copyTakesStates
  /// A remote that lost what it had is pushed to under the id that it knew.
  case lossKeepsID
  /// States that a loaded snapshot does not have stay.
  case snapshotKeepsOld
  /// A snapshot's rows take the place of those that it is joined with.
  case joinForgetsOwn
  /// The server takes a snapshot without looking into it.
  case offerUnchecked
  /// The check of an offered snapshot does not ask for rows that are not there.
  case missingRowsTaken
  /// The server takes a base although the space shows no loss and nobody asked for one.
  case baseUnasked
  /// A table's digest has authors by the numbers that this replica gave them.
  case digestByNumber
  /// What a quota counts of a push is what it was packed to.
  case quotaPacked
  /// A token opens every space.
  case tokenOpensAll
  /// Whoever pushes can write in a claimed author's name.
  case strangerWrites
  /// What a banned author writes on is taken.
  case banForgotten
  /// Of the rows of an operation the second is not merged.
  case rowLeftOut
  /// What this schema version does not have is forgotten.
  case deferredForgotten
  /// What peers write to a table under its former name is another table's.
  case formerNameForgotten
  /// A page of a pull has as many operations as there are.
  case pageUnlimited
  /// An operation's time is the clock's, whatever the time of the one before.
  case timeFromClockAlone
  /// A pull goes over a base that the replica has not loaded.
  case basePassed
  /// A snapshot that is offered trims what is before it, whoever has that.
  case offerTrims
  /// A server trims what a replica with a lease has not pulled.
  case leaseIgnored
  /// A delete says that it covers writes of others that its author had not seen.
  case coversUnseen
  /// A removal from a set says so of additions.
  case removalClaimsUnseen
  /// What a user did to a text that another replica changed last counts as lost.
  case editBeaten
  /// A failed exchange is followed by the next without a wait.
  case syncRetryAtOnce
  /// A loaded snapshot takes what lost before out of the inbox.
  case snapshotForgetsInbox
  /// What is appended to a shared folder is acknowledged before it is synced.
  case appendUnsynced
  /// What is appended stands behind what a dead writer left, and not in its place.
  case tornTailKept
  /// A cursor passes what a folder has and can't be read.
  case unreadPassed
  /// What is in a table before a release makes it sync is not adopted.
  case adoptionForgotten
  /// A UNIQUE index's WHERE is held against the row that is searched for, and not against others.
  case whereOneSided
  /// An update of a column in a UNIQUE index's WHERE has no note of what its REPLACE removes.
  case replaceBlind
  /// A folded row goes on pointing to one that the end of its settlement took out of its table.
  case pointersLeft
  /// A folded row is not looked at when the row that it points to changes or goes.
  case foldedNotWoken
  /// Nor when, in a table of several UNIQUE indexes, another comes that it should point to.
  case foldedUnsought
  /// A snapshot has what a veiled row shows, and not what the state has of it.
  case veilInSnapshot
  /// So has what is kept of a deleted row.
  case veilKept
  /// A REPLACE of a veiled row writes what the veil shows.
  case veilSealed
  /// A parent that is quarantined veils its children as a deleted one does.
  case veilForHeld
  /// A veiled row takes its place in a UNIQUE index by its creation, as if somebody had written it.
  case veilDisplaces
  /// A row that does not sync goes with its parent before the last page of a pull.
  case localCascadeEarly
  /// What a step writes is committed apart from its result.
  case stepResultApart
  /// Jobs of a service are started although its gate is closed.
  case gateIgnored
  /// A process that died counts as a failed attempt of its jobs.
  case crashBurnsAttempt
  /// A file goes when its last use is written, and not when that is committed.
  case fileUnlinkedBeforeCommit
  /// What a dead process ran is not freed.
  case claimForgotten
  /// A failed attempt is followed by the next without a wait.
  case retryAtOnce
  /// A queue takes more jobs than its limit.
  case limitIgnored
  /// What a dead process left in the folder of files stays.
  case sweepForgotten
  /// Jobs of a kind are started although it is paused.
  case pauseIgnored
  /// Jobs are started in the order in which they became ready alone.
  case priorityIgnored
  /// A job that is replaced keeps what its steps stored.
  case replacedInPart
  /// More jobs of a lane run at once than its pace says.
  case laneOverfilled
  /// A job that is started takes no token of its lane's.
  case tokenUntaken
  /// What fails at a service is tried again whatever failed there before.
  case budgetIgnored
  /// Jobs are started although what they require of the network is not there.
  case requirementIgnored
  /// A step whose work fails does it again at once, in the same attempt.
  case workRepeated
  /// A wait that is over wakes nobody: what is ready then waits for the worker's next look.
  case wakeLost
  /// A handler that never returns keeps its slot.
  case fenceForgotten
  /// A job goes on although what it requires of the network is gone.
  case lostRequirementIgnored
  /// Each change of the network restores every retry budget.
  case budgetsRestoredOften
  /// An answer to an upload is stored, and its job let go by another transaction.
  case answerStoredApart
  /// An upload's answer is taken for that of the one after it.
  case lateAnswerTaken
  /// A job waits on for an upload that the system has lost.
  case lostUploadAwaited
  /// An upload that nobody wants any more goes on.
  case uploadNotWithdrawn
  /// The system forgets an answer before it is stored.
  case answerForgottenEarly
  /// An answer to an upload ends whatever its job waits for.
  case retryHurriedByAnswer
  /// The next attempt fails of the same refusal again.
  case refusalKept
  /// A date in Retry-After is not read.
  case retryDateUnread
  /// A request that is sent again where a redirect leads has no idempotency key.
  case redirectDropsKey
  /// A stream of events that broke off is asked for from its beginning.
  case streamResumedAnew
  /// An answer does not correct a path without a route.
  case answerNotBelieved
  /// A stranger moves the lease of another member's replica, or has one for an id that it made up.
  case leaseForged
  /// A stranger's report of the state of another member's replica is taken.
  case reportForged
  /// A push reads a space's row and does not lock it.
  case headUnlocked
  /// A push reads what it decides by before its space is locked.
  case readBeforeLock
  /// A COMMIT that came back with a warning is acknowledged.
  case commitUnclear
  /// Listeners are told of a position before its commit.
  case positionEarly
  /// Other processes' pushes are learnt from notifications alone.
  case headsUnread
  /// A head that went back is not told.
  case greatestHead
  /// A device loads a snapshot without the check of what it would take away.
  case loadUnchecked
  /// SQLite's switch for triggers stays off after an error that ended the transaction.
  case switchStaysOff
  /// A temporary copy of a trigger is there after the merge for which it was made.
  case copyStays
  /// A trigger on what another one writes to is not copied.
  case nestedUncopied
  /// What triggers write to tables of another replica of the file does not count as unsafe.
  case othersUncounted
  /// Triggers are those that the first merge met, whatever came since.
  case triggersKnownOld
  /// What a seal puts back fires the app's triggers.
  case sealFiresTriggers
  /// A row is quarantined where a trigger that mirrors it fails.
  case mirrorHoldsRow
  /// A space that is frozen for its move goes on taking what is pushed.
  case freezeForgotten
  /// A space is opened where it was moved to without being compared with what it was.
  case moveUncompared
  /// A space that was moved is marked as gone before the other store serves it.
  case goneEarly

  /// Those of a replica and its server; a job queue has the others.
  package static let ofSync: [Planted] = [
    .acknowledgeBeforeCommit, .unstableTieBreak, .cursorEarly, .counterCountedTwice, .noteLost,
    .removalCoversUnseen, .textByArrival, .removalTakesNeighbour, .deleteForgotten,
    .uniqueByArrival, .heldNotWoken, .displacedUnlisted, .pageUnsettled, .replaceUnnoted,
    .orderTailMissing,
    .snapshotTailLost,
    .snapshotKeepsOld, .joinForgetsOwn, .offerUnchecked, .missingRowsTaken, .baseUnasked,
    .copyForgets,
    .copyKeepsCursor, .copyTakesStates,
    .lossKeepsID, .digestByNumber, .tokenOpensAll, .strangerWrites, .leaseForged, .reportForged,
    .banForgotten,
    .rowLeftOut, .deferredForgotten, .formerNameForgotten, .pageUnlimited,
    .timeFromClockAlone, .leaseIgnored, .basePassed, .offerTrims, .coversUnseen,
    .removalClaimsUnseen, .editBeaten,
    .syncRetryAtOnce, .snapshotForgetsInbox, .appendUnsynced, .tornTailKept, .unreadPassed,
  ]
  /// Those that drawn schemas and their migrations catch: the simulation has none of their kind.
  package static let ofSchemas: [Planted] = [
    .adoptionForgotten, .whereOneSided, .replaceBlind,
  ]
  /// Those of folded rows: no simulated table folds.
  package static let ofFolds: [Planted] = [.pointersLeft, .foldedNotWoken, .foldedUnsought]
  /// Those of veils: no simulated reference sets NULL.
  package static let ofVeils: [Planted] = [
    .veilInSnapshot, .veilKept, .veilSealed, .veilForHeld, .veilDisplaces,
  ]
  /// Those of unsynced tables: the simulation has none.
  package static let ofLocalChildren: [Planted] = [.localCascadeEarly]
  /// Those of seals: a simulated engine seals at once.
  package static let ofSeals: [Planted] = [.burstsTogether]
  /// Those of a server that its own tests catch: no simulated space is full.
  package static let ofServers: [Planted] = [.quotaPacked]
  /// Those of a store that several processes use: the simulation's is its own process's.
  package static let ofStores: [Planted] = [
    .headUnlocked, .readBeforeLock, .commitUnclear, .positionEarly, .headsUnread, .greatestHead,
  ]
  /// Those of a device that its own tests catch: a simulated server gives nothing that it has not
  /// looked into.
  package static let ofDevices: [Planted] = [.loadUnchecked]
  /// Those of merges beside the app's triggers: no simulated table has any.
  package static let ofTriggers: [Planted] = [
    .switchStaysOff, .copyStays, .nestedUncopied, .othersUncounted, .triggersKnownOld,
    .sealFiresTriggers, .mirrorHoldsRow,
  ]
  /// Those of a space's move between stores: no simulated space moves.
  package static let ofMoves: [Planted] = [.freezeForgotten, .moveUncompared, .goneEarly]
  package static let ofJobs: [Planted] =
    [
      .stepResultApart, .gateIgnored, .crashBurnsAttempt, .fileUnlinkedBeforeCommit,
      .claimForgotten, .retryAtOnce, .limitIgnored, .sweepForgotten, .pauseIgnored,
      .priorityIgnored, .replacedInPart, .laneOverfilled, .tokenUntaken, .budgetIgnored,
      .requirementIgnored, .workRepeated, .wakeLost, .fenceForgotten,
      .lostRequirementIgnored, .budgetsRestoredOften,
    ] + ofUploads + ofRequests
  package static let ofUploads: [Planted] = [
    .answerStoredApart, .lateAnswerTaken, .lostUploadAwaited, .uploadNotWithdrawn,
    .answerForgottenEarly, .retryHurriedByAnswer, .refusalKept,
  ]

  /// Of what a job's requests go through, and not of its queue.
  package static let ofRequests: [Planted] = [
    .retryDateUnread, .redirectDropsKey, .streamResumedAnew, .answerNotBelieved,
  ]

  #if Rehearsal
  /// What `TERN_PLANTED` names, so that whole test runs can have a bug (`script/planted`).
  private static let process = Mutex<Planted?>(
    getenv(CrashPoint.bugVariable).flatMap { Planted(rawValue: String(cString: $0)) })
  @TaskLocal private static var task: Planted?

  package static func isActive(_ bug: Planted) -> Bool {
    task == bug || process.withLock { $0 == bug }
  }

  /// Runs `body`, and the tasks that it makes, with one bug in place.
  package static func with<T>(_ bug: Planted?, _ body: () throws -> T) rethrows -> T {
    try $task.withValue(bug, operation: body)
  }

  /// The same for a body that waits.
  package static func throughout<T>(
    _ bug: Planted?, _ body: () async throws -> T
  ) async rethrows -> T {
    try await $task.withValue(bug, operation: body)
  }

  /// For the rest of this process's life.
  package static func plant(_ bug: Planted) {
    process.withLock { $0 = bug }
  }
  #else
  @inlinable
  package static func isActive(_ bug: Planted) -> Bool { false }
  #endif
}
