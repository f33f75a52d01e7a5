#if Server && Rehearsal
import Tern
@_spi(Rehearsal) import TernCore

/// How often what seldom happens did, in one world or in many: a fault that never happens tests nothing.
package struct Tally: Hashable, Sendable {
  private var counts: [String: Int] = [:]

  package init() {}

  mutating func add(_ event: String) { counts[event, default: 0] += 1 }

  /// - Parameter tallies: each of one world.
  package init(_ tallies: [Tally]) {
    for tally in tallies { counts.merge(tally.counts, uniquingKeysWith: +) }
  }

  package subscript(event: String) -> Int { counts[event, default: 0] }

  /// What is drawn, or follows from it, and never happened.
  package var missing: [String] { Self.drawn.filter { self[$0] == 0 } }

  /// A line an event; those that nobody expects follow the others.
  package var table: String {
    let others = counts.keys.filter { !Self.drawn.contains($0) }.sorted()
    return (Self.drawn + others).map { event in
      let count = "\(self[event])"
      return String(repeating: " ", count: max(0, 9 - count.count)) + count + "  " + event
    }.joined(separator: "\n")
  }

  /// What has to happen in some world of many. A copy that stays refused is too rare for that: it needs a
  /// trimmed log, and somebody who had seen what another copy wrote.
  static let drawn: [String] =
    Happening.allCases.filter { $0 != .fileEmptied }.map(\.rawValue) + crashes.map(Self.crash)
    + refusals.map { Self.refusal($0, by: .server) }
    + folderRefusals.map { Self.refusal($0, by: .folder) }

  enum Refuser: String {
    case server = "the server"
    case folder = "the folder"
  }

  static func crash(_ point: CrashPoint) -> String { "crash at \(point.rawValue)" }

  static func refusal(_ code: RemoteError.Code, by refuser: Refuser) -> String {
    "\(refuser.rawValue) says \(code.rawValue)"
  }

  /// Few devices die just as they load a snapshot: three times in 1,000 worlds. That is counted too.
  private static let crashes = CrashPoint.ofSync + CrashPoint.ofServerKeeping

  /// Others, such as `snapshot-conflict`, take a device that is not Tern's.
  private static let refusals: [RemoteError.Code] = [
    .unauthorized, .forbidden, .sequenceGap, .sequenceConflict, .timeAhead, .cursorUnknown,
    .snapshotNeeded, .snapshotUnknown, .snapshotSuperseded, .refillNeeded, .stateSuperseded,
    .tooLarge,
    .unreachable,
  ]
  private static let folderRefusals: [RemoteError.Code] = [
    .unreachable, .unavailable, .sequenceGap,
  ]
}

/// What is counted beside deaths at named points and refusals.
enum Happening: String, CaseIterable {
  case twoServers = "a world with two servers"
  case folderBesideServers = "a world with a shared folder beside servers"
  case manyReplicas = "a world of five to eight replicas"
  case copiesAndWipes = "a world with copied files and a server that is wiped"
  case hoursBehind = "a device's clock begins hours behind"
  case bothVersions = "a space ends with both versions of the schema"
  case requestLost = "a request is lost"
  case answerLost = "an answer is lost"
  case requestRepeated = "a request comes again later"
  case cutOff = "a request of a device that is cut off"
  case serverCrashed = "a server dies"
  case serverWiped = "a server is wiped"
  case serverRestored = "a server is put back to a backup"
  case deviceKilled = "a device dies"
  case clockSet = "a device's clock is set"
  case serverMet = "a device takes a second server"
  case upgraded = "a device gets the app's next release"
  case fileRestored = "a device's file is put back to a copy"
  case fileCloned = "a device's file is replaced by another's"
  case fileEmptied = "a refused copy is emptied"
  case newID = "a replica takes a new id"
  case restamped = "an operation is given a new time"
  case snapshotCompleted = "a snapshot is completed"
  case lieRefused = "a forged snapshot is refused"
  case strangerRefused = "a stranger writes in another's name, and is refused"
  case leaseForged = "a stranger pulls in another's name, which moves no lease"
  case leaseMadeUp = "a stranger pulls under an id that it made up"
  case reportForged = "a state report in another's name is refused"
  case reportFalse = "a state report that lies is taken"
  case repairedInVain = "a device loads a snapshot because of a report that lies"
  case baseOffered = "a base is offered"
  case snapshotLoaded = "a snapshot is loaded"
  case spaceTrimmed = "a server trims a space"
  case spaceRestored = "a server brings back what it trimmed"
  case logTrimmed = "a device's log is trimmed"
  case derived = "what a device shows is compared with its operations in another order"
  case stateReported = "a state is reported"
  case stateCompared = "a reported state is compared with another"
  case inboxEntry = "a value lost, and is in the inbox"
  case inboxFull = "an inbox has as many as it may"
  case quarantined = "a row is quarantined"
  case deferred = "an operation waits for an upgrade"
  case folderGone = "a shared folder is gone"
  case fileGone = "a file that another device wrote is gone"
  case ownFileGone = "a device's own file is gone"
  case fileBack = "a file is back"
  case fileBackBesideNew = "a file is back where there is another one now"
  case fileLate = "a file comes late"
  case filePartial = "a file comes in part"
  case fileTwice = "a file comes twice"
  case diedInWrite = "a device dies while it writes to its folder"
  case diedBeforeSync = "a device dies before what it wrote to its folder is synced"
  case powerTookTail = "a file in a folder loses what was not synced"
  case powerTookName = "a file in a folder was not synced, and is no more"
  case readFailed = "a file in a folder can't be read"
  case folderWithheld = "a folder gives all but what can't be read"
  case folderFileEnded = "a device begins another file in its folder"
}

extension SimulationTrace {
  func saw(_ event: Happening) { tally.add(event.rawValue) }

  /// Counts what a world is, beside what happens in it.
  func saw(_ script: SimulationScript) {
    if script.servers.count == 2 { saw(.twoServers) }
    if !script.servers.isEmpty, script.devices.contains(where: \.hasFolder) {
      saw(.folderBesideServers)
    }
    if script.wipesServer, script.copiesFiles { saw(.copiesAndWipes) }
    if 5...8 ~= script.devices.count { saw(.manyReplicas) }
    for device in script.devices where device.clock <= -7_200_000 { saw(.hoursBehind) }
  }
}
#endif
