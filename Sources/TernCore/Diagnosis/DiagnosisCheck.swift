/// What a diagnosis looks at. The raw values are printed and stay as they are.
package enum DiagnosisCheck: String, Hashable, Sendable, CaseIterable {
  // The file.
  case integrity = "sqlite-integrity"
  case references = "sqlite-references"
  case newerFormat = "newer-format"
  case olderFormat = "older-format"
  case leftoverParts = "leftover-parts"
  case fileOpen = "file-open"
  case temporaryFull = "temporary-full"
  // A replica's own tables.
  case storeTable = "store-table"
  case catalogue
  case sharedTable = "shared-table"
  case identity
  case copied
  case authors
  case clock
  case cursor
  case fork
  case inbox
  // Capture.
  case tableGone = "table-gone"
  case tableChanged = "table-changed"
  case columnGone = "column-gone"
  case triggerMissing = "trigger-missing"
  case triggerStale = "trigger-stale"
  case triggerLeft = "trigger-left"
  case triggerSkipped = "trigger-skipped"
  case triggerFailed = "trigger-failed"
  case notes
  case splice
  case largeRows = "large-rows"
  // The log.
  case logGap = "log-gap"
  case logBeyond = "log-beyond"
  case logDamaged = "log-damaged"
  case logMismatch = "log-mismatch"
  case logTime = "log-time"
  case logGroup = "log-group"
  case logBody = "log-body"
  case waitingLost = "waiting-lost"
  case waitingKnown = "waiting-known"
  case waiting
  // The state and what the tables make of it.
  case stateDamaged = "state-damaged"
  case stateForm = "state-form"
  case stateAhead = "state-ahead"
  case rowMissing = "row-missing"
  case rowUnwanted = "row-unwanted"
  case rowUnsynced = "row-unsynced"
  case columnDiffers = "column-differs"
  case writtenDiffers = "written-differs"
  case heldStray = "held-stray"
  case heldStands = "held-reason"
  case held
  case keptStray = "kept-stray"
  case orderLong = "order-long"
  case orderText = "order-text"
  case orderDouble = "order-double"
  case unchecked
  // Jobs.
  case jobState = "job-state"
  case jobCount = "job-count"
  case jobPart = "job-part"
  case jobAbandoned = "job-abandoned"
  case jobStuck = "job-stuck"
  case jobFileMissing = "job-file-missing"
  case jobFileLeft = "job-file-left"
  case gateClosed = "gate-closed"
  case gateForever = "gate-forever"
  // A server's tables.
  case serverFormat = "server-format"
  case serverTable = "server-table"
  case epoch
  case token
  case space
  case number
  case spaceBytes = "space-bytes"
  case spaceRemoved = "space-removed"
  case spaceMoving = "space-moving"
  // A space's operations.
  case positionGap = "position-gap"
  case positionBeyond = "position-beyond"
  case operationChain = "operation-chain"
  case operationDigest = "operation-digest"
  case operationDamaged = "operation-damaged"
  case operationMismatch = "operation-mismatch"
  case operationLost = "operation-lost"
  case operationLeft = "operation-left"
  case operationGap = "operation-gap"
  case operationTime = "operation-time"
  case groupOpen = "group-open"
  case head
  case base
  // What stands for them, and who has them.
  case trimmedLost = "trimmed-lost"
  case snapshotCursor = "snapshot-cursor"
  case snapshotHeads = "snapshot-heads"
  case snapshotSchema = "snapshot-schema"
  case snapshotPart = "snapshot-part"
  case snapshotUpload = "snapshot-upload"
  case snapshotDropped = "snapshot-dropped"
  case author
  case memberIDs = "member-ids"
  case lease
  case leaseBehind = "lease-behind"
  case mark
  case stateReport = "state-report"
  case stateDisputed = "state-disputed"
  // What was compared with a whole log.
  case stateReplay = "state-replay"
  case snapshotReplay = "snapshot-replay"

  package var isRemark: Bool {
    switch self {
    case .leftoverParts, .fileOpen, .temporaryFull, .fork, .notes, .largeRows, .triggerSkipped,
      .triggerFailed,
      .waiting, .held, .orderText, .orderDouble, .unchecked, .jobAbandoned, .jobStuck, .jobFileLeft,
      .gateClosed, .groupOpen,
      .snapshotUpload, .snapshotDropped, .spaceRemoved, .spaceMoving, .memberIDs, .leaseBehind,
      .stateDisputed, .snapshotReplay:
      true
    default: false
    }
  }

  package var invariant: Invariant {
    switch self {
    case .references, .catalogue, .stateDamaged, .stateForm, .rowMissing, .rowUnwanted,
      .columnDiffers, .writtenDiffers, .triggerSkipped, .triggerFailed, .heldStray, .heldStands,
      .held, .keptStray, .unchecked, .temporaryFull,
      .stateReport, .stateDisputed, .stateReplay:
      .convergence
    case .integrity, .storeTable, .tableGone, .tableChanged, .columnGone, .triggerMissing,
      .triggerStale, .triggerLeft, .notes, .rowUnsynced:
      .localWritesStay
    case .serverTable, .space, .number, .positionGap, .positionBeyond, .operationDigest,
      .operationLost,
      .operationGap, .head, .snapshotPart, .snapshotReplay:
      .acknowledgedIsStored
    case .jobPart, .jobFileMissing, .jobAbandoned: .effectsHappenOnce
    case .authors, .cursor, .fork, .logGap, .logBeyond, .waitingLost, .waitingKnown, .stateAhead,
      .epoch, .operationChain, .snapshotCursor:
      .cursorFollowsState
    case .logDamaged, .logMismatch, .logGroup, .logBody, .leftoverParts, .operationDamaged,
      .operationMismatch, .groupOpen, .snapshotUpload:
      .operationsAreAtomic
    case .inbox, .splice, .orderText, .orderDouble: .intentSurvives
    case .sharedTable, .token, .fileOpen: .spacesAreApart
    case .newerFormat, .olderFormat, .waiting, .jobState, .jobStuck, .gateClosed,
      .gateForever, .serverFormat, .spaceMoving:
      .drains
    case .largeRows, .orderLong, .jobCount, .jobFileLeft, .operationLeft, .snapshotDropped,
      .spaceBytes, .spaceRemoved, .memberIDs:
      .limitsHold
    case .identity, .copied, .clock, .logTime, .operationTime: .timesIncrease
    case .author: .authorsAreMembers
    case .base, .trimmedLost, .snapshotHeads, .snapshotSchema, .lease, .leaseBehind, .mark:
      .compactionIsUnseen
    }
  }
}
