#if Server && Rehearsal
import TernCore

extension Planted {
  /// For the table in Docs/Testing.md. Whoever plants a bug says here what is wrong with it.
  package var meaning: String {
    switch self {
    case .acknowledgeBeforeCommit: "the server answers a push before its commit"
    case .unstableTieBreak:
      "equal times are ordered by something that differs between replicas"
    case .cursorEarly: "the cursor moves past an operation that was not merged"
    case .counterCountedTwice: "a merged difference is added twice"
    case .noteLost: "a seal removes notes that it did not read"
    case .removalCoversUnseen: "a removal from a set takes what its author had not seen"
    case .textByArrival:
      "texts inserted at one place stand in the order in which they came"
    case .removalTakesNeighbour:
      "what is removed from a text takes along what another inserted behind it"
    case .deleteForgotten: "a change brings a row back that the delete had seen"
    case .uniqueByArrival:
      "of rows that collide in a UNIQUE index the first to arrive is shown"
    case .heldNotWoken: "what waits for a row is not looked at when that changes"
    case .displacedUnlisted: "a row that lost its place in a UNIQUE index is not in the inbox"
    case .pageUnsettled: "behind a page that writes to one table nothing is looked at that waits"
    case .replaceUnnoted: "what a REPLACE removes through a UNIQUE index is not noted"
    case .orderTailMissing: "two devices give rows at one spot the same key"
    case .snapshotTailLost:
      "what the log has and a loaded snapshot lacks is not merged again"
    case .snapshotKeepsOld: "states that a loaded snapshot does not have stay"
    case .offerUnchecked: "a server takes an offered snapshot without looking into it"
    case .missingRowsTaken:
      "the check of an offered snapshot does not ask for rows that are not there"
    case .baseUnasked: "a server takes a base although it lost nothing and nobody asked for one"
    case .joinForgetsOwn:
      "where a snapshot is joined with what it lacks, its rows take the place of those here"
    case .copyForgets: "a copy of a database that takes a new id drops what it wrote alone"
    case .copyKeepsCursor: "a copy that takes a new id goes on pulling where it was"
    case .copyTakesStates:
      "a copy whose log was trimmed takes along what it wrote before it was made"
    case .lossKeepsID: "what a remote lost is followed by more under the id that it knew"
    case .digestByNumber: "two replicas' digests of one state differ"
    case .loadUnchecked: "a device loads a snapshot without the check of what it would take away"
    case .switchStaysOff:
      "SQLite's switch for triggers stays off after an error that ended the transaction"
    case .copyStays: "a temporary copy of a trigger is there after the merge for which it was made"
    case .nestedUncopied: "a trigger on what another one writes to is not copied"
    case .othersUncounted:
      "what triggers write to tables of another replica of the file does not count as unsafe"
    case .triggersKnownOld: "triggers are those that the first merge met, whatever came since"
    case .sealFiresTriggers: "what a seal puts back fires the app's triggers"
    case .mirrorHoldsRow: "a row is quarantined where a trigger that mirrors it fails"
    case .freezeForgotten: "a space that is frozen for its move goes on taking what is pushed"
    case .moveUncompared: "a moved space is opened without being compared with what it was"
    case .goneEarly: "a moved space is marked as gone before the other store serves it"
    case .headUnlocked: "a push reads a space's row and does not lock it"
    case .readBeforeLock: "a push reads what it decides by before its space is locked"
    case .positionEarly: "listeners are told of a position before its commit"
    case .headsUnread: "other processes' pushes are learnt from notifications alone"
    case .greatestHead: "a head that went back is not told"
    case .commitUnclear: "a COMMIT that came back with a warning is acknowledged"
    case .quotaPacked: "what a quota counts of a push is what it was packed to"
    case .tokenOpensAll: "a token opens every space"
    case .strangerWrites: "whoever pushes can write in a claimed author's name"
    case .leaseForged: "a stranger moves leases of others, or has some of ids that it made up"
    case .reportForged: "a stranger's report of another member's state is taken"
    case .banForgotten: "what a banned author writes on is taken"
    case .rowLeftOut: "of the rows of an operation the second is not merged"
    case .deferredForgotten: "what this schema version does not have is forgotten"
    case .formerNameForgotten: "what peers write under a table's former name is another table's"
    case .pageUnlimited: "a page of a pull has as many operations as there are"
    case .timeFromClockAlone:
      "an operation's time is the clock's, whatever the time of the one before"
    case .leaseIgnored: "a server trims what a replica with a lease has not pulled"
    case .basePassed: "a pull goes over a base that the replica has not loaded"
    case .offerTrims: "an offered snapshot trims what is before it, whoever has that"
    case .coversUnseen: "a delete says that it covers what its author had not seen"
    case .removalClaimsUnseen:
      "a removal from a set says that it covers what its author had not seen"
    case .editBeaten: "an edit of a text that another replica changed last counts as lost"
    case .syncRetryAtOnce: "a failed exchange is followed by the next without a wait"
    case .snapshotForgetsInbox: "a loaded snapshot takes what lost before out of the inbox"
    case .appendUnsynced: "what is appended to a shared folder is acknowledged before it is synced"
    case .tornTailKept:
      "what is appended stands behind what a dead writer left, and not in its place"
    case .unreadPassed: "a cursor passes what a folder has and can't be read"
    case .stepResultApart: "a step's rows are committed apart from its result"
    case .fileUnlinkedBeforeCommit: "a file goes before the commit that gives it up"
    case .sweepForgotten: "what a dead process left in the folder of files stays"
    case .gateIgnored: "jobs start although their gate is closed"
    case .crashBurnsAttempt: "a process's death counts as a failed attempt"
    case .claimForgotten: "what a dead process ran is not freed"
    case .retryAtOnce: "a failed attempt is followed by the next without a wait"
    case .limitIgnored: "a queue takes more jobs than its limit"
    case .pauseIgnored: "jobs of a kind start although it is paused"
    case .priorityIgnored: "jobs start in the order in which they became ready alone"
    case .replacedInPart: "a job that is replaced keeps what its steps stored"
    case .laneOverfilled: "more jobs of a lane run at once than its pace says"
    case .tokenUntaken: "a job that starts takes no token of its lane's"
    case .budgetIgnored: "what fails at a service is tried again whatever failed there before"
    case .requirementIgnored: "jobs start although what they require is not there"
    case .workRepeated: "a step whose work fails does it again at once, in the same attempt"
    case .wakeLost:
      "a wait that is over wakes nobody, and what is ready waits for the worker's next look"
    case .fenceForgotten: "a handler that never returns keeps its slot"
    case .lostRequirementIgnored:
      "a job goes on although what it requires of the network is gone"
    case .budgetsRestoredOften: "each change of the network restores every retry budget"
    case .answerStoredApart:
      "an answer to an upload is stored, and its job let go by another transaction"
    case .lateAnswerTaken: "an upload's answer is taken for that of the one after it"
    case .lostUploadAwaited: "a job waits on for an upload that the system has lost"
    case .uploadNotWithdrawn: "an upload that nobody wants any more goes on"
    case .answerForgottenEarly: "the system forgets an answer before it is stored"
    case .retryHurriedByAnswer: "an answer to an upload ends whatever its job waits for"
    case .refusalKept: "the next attempt fails of the same refusal again"
    case .retryDateUnread: "a date in Retry-After is not read"
    case .redirectDropsKey: "a request that a redirect leads elsewhere loses its idempotency key"
    case .streamResumedAnew: "a stream of events that broke off is asked for from its beginning"
    case .adoptionForgotten:
      "what is in a table before a release makes it sync is not adopted"
    case .whereOneSided:
      "a UNIQUE index's WHERE is not held against the rows that are found"
    case .replaceBlind:
      "an update of what a UNIQUE index's WHERE names has no note of what its REPLACE removes"
    case .pointersLeft: "a folded row points to one that the end of its settlement took away"
    case .foldedNotWoken: "a folded row is not looked at when the one that it points to changes"
    case .foldedUnsought:
      "a folded row is not looked at when another comes that it should point to"
    case .veilInSnapshot: "a snapshot has what a veiled row shows, and not what it holds"
    case .veilKept: "what is kept of a deleted row is what a veil showed"
    case .veilSealed: "a REPLACE of a veiled row writes what the veil shows"
    case .veilForHeld: "a quarantined parent veils its children, as a deleted one does"
    case .veilDisplaces: "a row that a veil moves to a default displaces one that a person wrote"
    case .localCascadeEarly:
      "a row that does not sync goes with its parent before the last page of a pull"
    case .burstsTogether: "a seal gives all that it seals the time of its last note"
    case .answerNotBelieved: "an answer does not correct a path without a route"
    }
  }
}
#endif
