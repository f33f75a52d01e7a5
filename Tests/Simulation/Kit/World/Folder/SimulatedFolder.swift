#if Server && Rehearsal
import Foundation
import Tern
import TernTesting

/// One device's copy of a folder that devices share: real files, how many of their bytes a loss of power
/// leaves, and what else goes wrong with them. One thread runs everything here.
final class SimulatedFolder: @unchecked Sendable {
  // Sendable, because only the seeded executor's one thread ever touches it.
  let device: Int
  let space: Int
  let script: SimulationScript
  let clock: VirtualClock
  let trace: SimulationTrace
  /// The folder that the app was given, whether it is connected or not.
  let root: String
  private let gone: String
  var generator: SeededGenerator
  var isFaulty = true
  private(set) var isConnected = true
  var violation: String?
  var pace = RequestPace()
  /// Ends the app.
  var kill: () -> Void = {}
  /// Grows with each change of a file, and with each that takes something away.
  var changes = 1
  private(set) var losses = 0
  /// By a file's number in its file system: where it ends on the disk, and whether its name is there.
  var synced: [ino_t: Int] = [:]
  var named: Set<ino_t> = []
  /// How far the device came that died in a push.
  var death: Death?
  /// Files that others brought, and which version; 0 for one that is to be brought again.
  var carried: [String: Int] = [:]
  private var hidden: [(name: String, path: String)] = []
  private var contents: [String: FolderContent] = [:]
  private var readAt = 0
  private var goneFiles = 0
  private var stamps = 0

  struct Death {
    /// Of the file that it wrote, and what was in it.
    let descriptor: CInt?
    let bytes: [UInt8]
  }

  static let suffix = ".tern"

  /// - Parameter base: a folder of this world's own.
  init(
    _ device: SimulationScript.Device, _ script: SimulationScript, in base: String,
    clock: VirtualClock, trace: SimulationTrace
  ) throws {
    (self.device, space) = (device.index, device.space)
    (self.script, self.clock, self.trace) = (script, clock, trace)
    (root, gone) = ("\(base)/\(device.index)", "\(base)/\(device.index).gone")
    generator = script.generator(UInt64(20_000 + device.index))
    for path in [root, gone] {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }
  }

  func happens(_ rate: SimulationScript.Rate) -> Bool {
    isFaulty && generator.happens(script.rates[rate] ?? 0)
  }

  // MARK: - Its files

  private var path: String { "\(isConnected ? root : root + ".away")/space-\(space)" }
  func path(of name: String) -> String { "\(path)/\(name)" }

  var names: [String] {
    // There is none before the first push.
    let all = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
    return all.filter { $0.hasSuffix(Self.suffix) }.sorted()
  }

  func bytes(of name: String) -> [UInt8] {
    [UInt8](FileManager.default.contents(atPath: path(of: name)) ?? Data())
  }

  func status(of name: String) -> stat {
    var status = stat()
    precondition(lstat(path(of: name), &status) == 0, "a simulated folder lost “\(name)”")
    return status
  }

  /// Tells a file from what it was, however little real time has passed.
  var nextStamp: [timespec] {
    stamps += 1
    let moment = SimulatedServer.epochMilliseconds + clock.milliseconds
    let time = timespec(tv_sec: Int(moment / 1000), tv_nsec: stamps)
    return [time, time]
  }

  func stamp(_ name: String) {
    changes += 1
    utimensat(AT_FDCWD, path(of: name), nextStamp, 0)
  }

  private func read() -> [String: FolderContent] {
    if readAt == changes { return contents }
    let names = names
    contents = contents.filter { names.contains($0.key) }
    for name in names { contents[name, default: FolderContent()].read(bytes(of: name)) }
    readAt = changes
    return contents
  }

  /// Everything that can be read, by author and number.
  var operations: [ReplicaID: [UInt64: SyncOperation]] {
    read().values.reduce(into: [:]) { all, content in
      for (author, found) in content.found {
        all[author, default: [:]].merge(found.mapValues(\.operation)) { first, _ in first }
      }
    }
  }

  /// Of each author, up to where nothing is missing.
  var heads: VersionVector {
    VersionVector(
      operations.mapValues { found in
        var head: UInt64 = 0
        while found[head + 1] != nil { head += 1 }
        return head
      })
  }

  /// What a push acknowledged is on this device's disk (INV-03).
  func checkHolds(_ operations: [SyncOperation]) {
    let files = read().map { name, content in
      let number = status(of: name).st_ino
      return (content.found, named.contains(number) ? synced[number] ?? 0 : 0)
    }
    for envelope in operations.map(\.envelope) {
      let isHeld = files.contains { found, end in
        found[envelope.replica]?[envelope.sequence].map { $0.end <= end } ?? false
      }
      if !isHeld {
        violation =
          violation
          ?? "INV-03: operation \(envelope.sequence) of \(envelope.replica) was acknowledged that "
          + "the folder of device \(device) does not hold for good"
      }
    }
  }

  // MARK: - What befalls it

  func heal() {
    isFaulty = false
    if !isConnected { connect() }
    bringBack()
  }

  /// Its disk or its share goes, or comes.
  func connect() {
    rename(isConnected ? root : root + ".away", isConnected ? root + ".away" : root)
    isConnected.toggle()
    trace.note("device \(device) has \(isConnected ? "its" : "no") folder")
    if !isConnected { trace.saw(.folderGone) }
  }

  /// A file goes, or all that went come back.
  func hide() {
    guard hidden.isEmpty else { return bringBack() }
    guard let name = names.randomElement(using: &generator) else { return }
    trace.note("device \(device) misses \(name)")
    trace.saw(carried[name] == nil ? .ownFileGone : .fileGone)
    hidden.append((name, takeAway(name)))
  }

  func hides(_ name: String) -> Bool { hidden.contains { $0.name == name } }

  private func bringBack() {
    for (name, old) in hidden {
      let isTaken = names.contains(name)
      let stem = name.dropLast(Self.suffix.count)
      // As drives do where there is another one now.
      let free = isTaken ? "\(stem) (back \(goneFiles))\(Self.suffix)" : name
      rename(old, path(of: free))
      trace.note("device \(device) has \(free) again")
      trace.saw(isTaken ? .fileBackBesideNew : .fileBack)
      changes += 1
    }
    hidden = []
  }

  /// - Returns: where it is now.
  func takeAway(_ name: String) -> String {
    goneFiles += 1
    (changes, losses) = (changes + 1, losses + 1)
    let new = "\(gone)/\(goneFiles)"
    rename(path(of: name), new)
    return new
  }

  func noteLoss() { losses += 1 }
}
#endif
