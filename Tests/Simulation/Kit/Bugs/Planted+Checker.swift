#if Server && Rehearsal
import TernCore

/// The check that a planted bug is there to test.
package struct PlantedChecker: Sendable {
  /// What its violations begin with.
  let invariant: String
  /// One of these is in them as well.
  let texts: [String]

  fileprivate init(_ invariant: String, _ texts: String...) {
    (self.invariant, self.texts) = (invariant, texts)
  }

  package func says(_ violation: String) -> Bool {
    violation.hasPrefix("\(invariant):") && texts.contains { violation.contains($0) }
  }
}

extension Planted {
  /// Some seed has to fail by it: what else a bug breaks shows nothing of whether its own checker works.
  package var checker: PlantedChecker {
    switch self {
    case .unstableTieBreak, .counterCountedTwice, .removalCoversUnseen, .textByArrival,
      .deleteForgotten, .uniqueByArrival, .snapshotKeepsOld, .copyTakesStates, .deferredForgotten,
      .formerNameForgotten, .heldNotWoken, .joinForgetsOwn:
      PlantedChecker("INV-01", "states of", "report different states")
    case .offerUnchecked, .missingRowsTaken:
      PlantedChecker("INV-03", "a snapshot that lacks a row was taken")
    case .baseUnasked: PlantedChecker("INV-03", "a base was taken that nobody had asked for")
    case .digestByNumber: PlantedChecker("INV-01", "report different states", "its state to differ")
    case .displacedUnlisted: PlantedChecker("INV-14", "neither shown nor in the inbox")
    case .pageUnsettled: PlantedChecker("INV-01", "shows otherwise than a device")
    case .replaceUnnoted: PlantedChecker("INV-02", "deleted item/")
    case .noteLost, .copyForgets:
      PlantedChecker("INV-02", "which no operation carries")
    case .lossKeepsID: PlantedChecker("INV-02", "is refused for good")
    case .editBeaten: PlantedChecker("INV-02", "added letter", "took letter")
    case .acknowledgeBeforeCommit: PlantedChecker("INV-03", "was acknowledged that the server")
    case .appendUnsynced, .tornTailKept:
      PlantedChecker("INV-03", "was acknowledged that the folder")
    case .unreadPassed: PlantedChecker("INV-05", "at its folder has passed")
    case .cursorEarly, .copyKeepsCursor, .snapshotTailLost:
      PlantedChecker("INV-05", "the cursor of device")
    case .rowLeftOut: PlantedChecker("INV-06", "half of a transaction")
    case .removalTakesNeighbour: PlantedChecker("INV-07", "and should be")
    case .orderTailMissing: PlantedChecker("INV-07", "two rows stand at one position")
    case .coversUnseen, .removalClaimsUnseen: PlantedChecker("INV-07", "had not seen")
    case .tokenOpensAll: PlantedChecker("INV-08", "answered device")
    case .syncRetryAtOnce: PlantedChecker("INV-09", "requests of device")
    case .pageUnlimited: PlantedChecker("INV-10", "a page has")
    case .snapshotForgetsInbox: PlantedChecker("INV-10", "the inbox of device")
    case .timeFromClockAlone: PlantedChecker("INV-11", "do not increase")
    case .basePassed: PlantedChecker("INV-05", "a page goes over a base")
    case .leaseIgnored, .offerTrims: PlantedChecker("INV-12", "has to rejoin")
    case .strangerWrites: PlantedChecker("INV-13", "wrote in the name of")
    case .leaseForged: PlantedChecker("INV-13", "holds the horizon back")
    case .reportForged: PlantedChecker("INV-13", "reported a state in the name of")
    case .banForgotten: PlantedChecker("INV-13", "a banned replica wrote")
    default: checkerOfJobs
    }
  }

  private var checkerOfJobs: PlantedChecker {
    switch self {
    case .stepResultApart: PlantedChecker("INV-04", "are there, its result not")
    case .fileUnlinkedBeforeCommit: PlantedChecker("INV-04", "files are missing")
    case .sweepForgotten: PlantedChecker("INV-04", "files of no job")
    case .lateAnswerTaken:
      PlantedChecker(
        "INV-04", "and nobody answered", "and nobody refused", "and that answers another")
    case .answerForgottenEarly: PlantedChecker("INV-04", "the system forgets")
    case .gateIgnored: PlantedChecker("INV-09", "passed a closed gate", "passed the gate")
    case .crashBurnsAttempt: PlantedChecker("INV-09", "after death job")
    case .claimForgotten: PlantedChecker("INV-09", "not all is drained")
    case .retryAtOnce: PlantedChecker("INV-09", "should wait")
    case .pauseIgnored: PlantedChecker("INV-09", "is paused")
    case .priorityIgnored: PlantedChecker("INV-09", "which was ready before it")
    case .replacedInPart: PlantedChecker("INV-04", "is done, and")
    case .laneOverfilled: PlantedChecker("INV-09", "run at once")
    case .tokenUntaken: PlantedChecker("INV-09", "were started within")
    case .budgetIgnored: PlantedChecker("INV-09", "attempts failed at")
    case .requirementIgnored: PlantedChecker("INV-09", "was started, and requires")
    case .workRepeated: PlantedChecker("INV-09", "twice in one attempt")
    case .wakeLost: PlantedChecker("INV-09", "ms too late")
    case .fenceForgotten: PlantedChecker("INV-09", "has its slot after")
    case .lostRequirementIgnored: PlantedChecker("INV-09", "goes on, and requires")
    case .budgetsRestoredOften: PlantedChecker("INV-09", "budgets were restored")
    case .answerStoredApart: PlantedChecker("INV-09", "its job waits on")
    case .lostUploadAwaited: PlantedChecker("INV-09", "which the system has lost")
    case .uploadNotWithdrawn: PlantedChecker("INV-09", "unwanted")
    case .retryHurriedByAnswer: PlantedChecker("INV-09", "the wait of job")
    case .refusalKept: PlantedChecker("INV-09", "refused twice for one refusal")
    case .retryDateUnread: PlantedChecker("INV-09", "was told to wait until")
    case .redirectDropsKey: PlantedChecker("INV-04", "without its key")
    case .streamResumedAnew: PlantedChecker("INV-04", "asks for what follows event")
    case .answerNotBelieved: PlantedChecker("INV-09", "still said to be no route")
    case .limitIgnored: PlantedChecker("INV-10", "was taken over a limit")
    default: preconditionFailure("nobody says which checker is for \(rawValue)")
    }
  }
}
#endif
