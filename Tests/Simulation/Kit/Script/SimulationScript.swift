#if Server && Rehearsal
import Tern
import TernTesting

/// All that happens to a world, and what goes wrong in it: drawn from a seed, or read from a text.
///
/// Whatever a script leaves open, such as how long a message travels, is drawn from its seed, from a
/// stream of its own for each device and server, so that leaving one out changes little for the rest.
package struct SimulationScript: Hashable, Sendable {
  /// How long users write and things go wrong.
  static let busyMilliseconds: Int64 = 20_000
  /// How long all may take to agree once nothing goes wrong any more (INV-09).
  static let quietSeconds: Int64 = 600

  package var seed: UInt64
  /// How many rows users choose from.
  var keys = 4
  var deletes = DeleteRule.deleteWins
  var devices: [Device] = []
  /// How likely each fault is, where it can happen; those that are not there never are.
  var rates: [Rate: Double] = [:]
  var conditions: Set<Condition> = []
  /// In the order of their times.
  var steps: [Step] = []

  struct Device: Hashable, Sendable {
    let index: Int
    /// Spaces are numbered from 0.
    var space = 0
    /// It syncs with each of these.
    var servers: [Int] = [0]
    /// And with a folder that it shares with others of its space.
    var hasFolder = false
    /// Of the app's schema, 1 or 2, before an upgrade.
    var version = 1
    /// Milliseconds that its clock is ahead.
    var clock: Int64 = 0
  }

  enum Rate: String, CaseIterable, Sendable {
    /// A device dies at a crash point, or a server at one of its own.
    case deviceCrash, serverCrash
    /// A message, or its answer, never comes; or a message comes again later.
    case requestLost, answerLost, requestRepeated
    /// A device dies as it writes to its folder, or before that is synced.
    case folderDeath
    /// A file in a folder can't be read now.
    case readFailed
    /// What others wrote to a folder comes later, first in part, or under another name as well.
    case fileLate, filePartial, fileTwice

    static let ofFolders: [Rate] = [.folderDeath, .readFailed, .fileLate, .filePartial, .fileTwice]
  }

  enum Condition: String, CaseIterable, Sendable {
    /// Logs keep nothing for its age, and snapshots stand for what is trimmed.
    case trims
    /// The server waits for no reader before it trims.
    case endsLeases
    /// A server takes few operations at a time.
    case smallBatches
    /// Devices keep few of the values that lost.
    case smallInbox
    /// A device begins the next file in its folder soon.
    case smallFiles
  }

  enum Actor: Hashable, Sendable {
    case device(Int)
    case server(Int)
  }

  struct Step: Hashable, Sendable {
    /// Milliseconds from the beginning.
    var at: Int64
    let actor: Actor
    let kind: Kind
    /// Draws what it leaves open.
    let seed: UInt32
  }

  enum Kind: Hashable, Sendable {
    /// The user writes a transaction.
    case write
    /// The device's clock is set, by so many milliseconds.
    case clock(Int64)
    /// The app is killed, wherever it is.
    case kill
    /// The device's file is copied.
    case backUp
    /// The copy is put in the file's place.
    case restore
    /// The file of another device is put in this one's place.
    case clone(Int)
    /// The app's next release is installed.
    case upgrade
    /// The device begins to sync with that server, of those that it is said to sync with.
    case meet(Int)
    /// It asks for the other space with its own token, and with none.
    case trespass
    /// The device's folder is not there any more, or is again.
    case unplug
    /// A file of its folder goes, or all that went come back.
    case hide
    /// It dies, and of what is not synced in its folder a part is gone.
    case losePower
    /// Of a server: a device can't reach it any more, or can again.
    case cut(Int)
    case maintain
    case crash
    case wipe
  }

  /// A generator for one purpose, which no other shares.
  func generator(_ purpose: UInt64) -> SeededGenerator {
    var mixer = SeededGenerator(seed: seed ^ (purpose << 32))
    return SeededGenerator(seed: mixer.next())
  }

  var servers: [Int] { Set(devices.flatMap(\.servers)).sorted() }
  var spaces: [Int] { Set(devices.map(\.space)).sorted() }

  func steps(of actor: Actor) -> [Step] { steps.filter { $0.actor == actor } }

  /// Whether a device's file is put back, or replaced by another one's.
  var copiesFiles: Bool {
    devices.contains { steps(of: .device($0.index)).contains(where: \.kind.copiesFile) }
  }

  /// The servers that a device does not sync with from the beginning.
  func lateServers(of device: Int) -> Set<Int> {
    Set(
      steps(of: .device(device)).compactMap {
        if case .meet(let server) = $0.kind { server } else { nil }
      })
  }

  var wipesServer: Bool { steps.contains { $0.kind == .wipe } }

  /// Whether every device of a space can hear of every other.
  var isConnected: Bool {
    spaces.allSatisfy { space in
      let ways = devices.filter { $0.space == space }.map {
        Set($0.servers).union($0.hasFolder ? [-1] : [])
      }
      var reached = ways.first ?? []
      for _ in ways {
        for way in ways where !way.isDisjoint(with: reached) { reached.formUnion(way) }
      }
      return ways.allSatisfy { !$0.isDisjoint(with: reached) }
    }
  }
}

extension SimulationScript.Kind {
  /// After it two devices may be one replica, or one replica may be what it was.
  var copiesFile: Bool {
    switch self {
    case .restore, .clone: true
    default: false
    }
  }
}
#endif
