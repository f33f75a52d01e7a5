import CFaultVFS
import GRDBSQLite

/// What happens at the n-th operation.
enum Fault: String, CaseIterable, Sendable {
  // The program goes on, and is told.
  case writeError = "write-error"
  case syncError = "sync-error"
  case syncErrors = "sync-errors"
  case syncForgets = "sync-forgets"
  case readError = "read-error"
  case readErrors = "read-errors"
  case diskFull = "disk-full"
  case removalError = "removal-error"
  // The program dies, and the system goes on.
  case kill
  case killInWrite = "kill-in-write"
  // The power goes.
  case powerLoss = "power-loss"
  case powerLossMixed = "power-loss-mixed"
  case powerLossInWrite = "power-loss-in-write"

  /// Whether the program dies, and what of un-synced writes is left.
  var kept: Disk.Kept? {
    switch self {
    case .kill, .killInWrite: .all
    case .powerLoss: Disk.Kept.none
    case .powerLossMixed, .powerLossInWrite: .some
    default: nil
    }
  }

  /// Runs of the same n with another seed, where the seed decides something.
  var seedCount: Int {
    switch self {
    case .powerLossMixed: 2
    default: 1
    }
  }

  /// - Parameter at: from 1.
  func armed(at number: Int, seed: UInt64) -> TernFault {
    TernFault(
      operations: CInt(operations), at: Int64(number), action: CInt(action), code: code,
      is_lasting: isLasting, seed: seed)
  }

  private var operations: Int {
    let removals = TERN_FAULT_TRUNCATE | TERN_FAULT_DELETE
    return switch self {
    case .writeError, .diskFull: TERN_FAULT_WRITE
    case .syncError, .syncErrors, .syncForgets: TERN_FAULT_SYNC
    case .readError, .readErrors: TERN_FAULT_READ
    case .removalError: removals
    default: TERN_FAULT_WRITE | TERN_FAULT_SYNC | removals
    }
  }

  private var action: Int {
    switch self {
    case .kill, .powerLoss, .powerLossMixed: TERN_FAULT_CRASH
    case .killInWrite, .powerLossInWrite: TERN_FAULT_TEAR
    case .syncForgets: TERN_FAULT_FAIL_AND_FORGET
    default: TERN_FAULT_FAIL
    }
  }

  private var code: CInt {
    switch self {
    case .diskFull: SQLITE_FULL
    case .syncError, .syncErrors, .syncForgets: SQLITE_IOERR | 4 << 8
    case .readError, .readErrors: SQLITE_IOERR | 1 << 8
    case .removalError: SQLITE_IOERR | 10 << 8
    default: SQLITE_IOERR | 3 << 8
    }
  }

  /// Whether every later operation is hit too.
  var isLasting: Bool {
    switch self {
    case .diskFull, .syncErrors, .readErrors: true
    default: false
    }
  }
}
