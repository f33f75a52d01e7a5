extension DiagnosisCheck {
  private static let reload =
    "bring what this device alone has to safety, open a new database with the app, and let it load "
    + "everything from a remote"
  private static let restore =
    "stop the server and put back a backup without a finding, or begin with a new file: the devices "
    + "bring what they have"

  /// What to do, in the imperative.
  package var remedy: String {
    switch self {
    case .integrity:
      "copy the file, restore it from a backup or with `sqlite3 FILE .recover`, and look again"
    case .references:
      "look for the parents in the inbox, from where they may come back; write those that are "
        + "missing, or delete these rows, with the app or the server stopped"
    case .newerFormat: "update the app or this program, and look again"
    case .olderFormat:
      "sync it with the Tern that made it, then drop the tables that it names and open it anew"
    case .leftoverParts:
      "let the app sync, which goes on with it; or remove the file while the app is closed"
    case .storeTable, .catalogue, .authors, .logGap, .logDamaged, .logMismatch, .logTime,
      .logGroup, .stateDamaged, .stateForm, .stateAhead, .waitingLost, .logBeyond, .stateReplay:
      Self.reload
    case .sharedTable: "take the table out of one replica's schema and open that one again"
    case .identity, .copied:
      "keep one copy; of every other one, or of a restored one, " + Self.reload
    case .clock: "open it with the app, and set this device's clock right before it writes"
    case .cursor: "let the app forget the remote's cursor, or " + Self.reload
    case .fork: "let an empty database sync with that remote, to have what it has of that replica"
    case .inbox: "dismiss the entry in the app's inbox"
    case .tableGone: "put the table back, or open it with a schema that does not name it"
    case .tableChanged, .columnGone, .triggerMissing, .triggerStale, .triggerLeft:
      "open it with the app, which puts its triggers in place; then write again what was written "
        + "meanwhile"
    case .triggerSkipped:
      "nothing, where it is to run for the app's own writes alone; where it also mirrors rows into "
        + "tables that do not sync, let a trigger of its own do that"
    case .triggerFailed:
      "put right what it writes to, and write there what it would have; an opening forgets this"
    case .notes: "open it with the app, whose next sync seals them"
    case .splice: "open it with the app and write the text again"
    case .largeRows: "make these rows shorter, and keep large content in files"
    case .logBody, .waitingKnown: "open it with the app, which merges what it can read now"
    case .waiting: "wait until the clock is there, or update the app"
    case .rowMissing: "insert the row again with the app, or delete it there and insert it anew"
    case .rowUnwanted: "open it with the app and delete the row, or write it to bring it back"
    case .rowUnsynced: "open it with the app and write the row, so that it is noted"
    case .columnDiffers, .writtenDiffers:
      "open it with the app and write the column with the value that is right"
    case .heldStray, .keptStray: "open it with the app and let it sync, and look again"
    case .heldStands:
      "write the row, or what it refers to, with the app, which looks at it again then"
    case .held: "see to what keeps them out: `tern explain` names it for a row"
    case .orderLong: "move the row beside its neighbour with `Replica.move`"
    case .orderText: "move a row beside them with `Replica.move`, which gives them keys"
    case .orderDouble: "move a row between them with `Replica.move`; until then sort by the key too"
    case .temporaryFull:
      "free some of the disk with temporary files, or name a folder in SQLITE_TMPDIR, and look again"
    case .unchecked: "open it with the app, let it sync, and look again"
    case .jobState: "remove the job with the app and enqueue it anew"
    case .jobCount: "open it with the app, and tell Tern's makers"
    case .jobPart: "remove the row while the app is closed"
    case .jobAbandoned: "run a worker, which takes it up again"
    case .jobStuck: "retry or remove it, or run a worker that has a handler for its kind"
    case .jobFileMissing: "restore the file from a backup, or remove the job and enqueue it anew"
    case .jobFileLeft: "open the queue with the app, which sweeps it"
    case .gateClosed: "wait until it reopens"
    case .gateForever: "set the device's clock right and run a worker; or delete the gate's row"
    case .serverFormat: "serve a new file, to which the devices bring what they have"
    case .serverTable, .epoch, .space, .number, .positionGap, .positionBeyond, .operationChain,
      .operationDigest, .operationDamaged, .operationMismatch, .operationLost, .operationGap,
      .operationTime, .head, .base, .trimmedLost, .snapshotCursor, .snapshotHeads,
      .snapshotSchema, .snapshotPart:
      Self.restore
    case .snapshotReplay:
      "nothing, where an operator accepted it; otherwise drop it with `tern snapshot drop`, and let "
        + "a device give another"
    case .fileOpen: "run `chmod 600` on it, and on the `-wal` and `-shm` beside it"
    case .token: "revoke it with `tern token revoke`, and make another"
    case .operationLeft:
      "stop the server and set the row's bytes to x''; in a database, delete its row of "
        + "operation_bytes"
    case .groupOpen: "wait until its author has pushed the rest"
    case .snapshotUpload: "wait until a device has gone on with it; a day later it is let go"
    case .spaceBytes: "stop the server and set the `bytes` of its row to what it stores"
    case .spaceMoving:
      "run 'tern space move' again, which finishes a move or takes it back; 'tern space delete' "
        + "removes what was moved away"
    case .snapshotDropped, .spaceRemoved: "wait for the server's next maintenance, at most an hour"
    case .author: "run 'tern replica list', and 'tern replica assign' or 'ban' for what is wrong"
    case .memberIDs:
      "run 'tern replica list', and ban ids of devices that are gone, or allow more with 'tern space "
        + "quota --authors'"
    case .lease: "stop the server and delete the row, which the replica's next pull writes anew"
    case .leaseBehind: "wait until the replica has loaded the snapshot, or its lease runs out"
    case .mark: "stop the server and delete the row: operations then stay a little longer"
    case .stateReport: "stop the server and delete the row: the next report takes its place"
    case .stateDisputed: "let the devices sync, which mends the one that differs"
    }
  }
}
