#if Server && Rehearsal
import Foundation
import Tern
import TernTesting

/// What carries a folder between devices, as a cloud drive does: files and not operations, late, in
/// part and twice. Each file belongs to the device on which it was made.
final class FolderCarrier: @unchecked Sendable {
  // Sendable, because only the seeded executor's one thread ever touches it.
  private let folders: [SimulatedFolder]
  private let clock: VirtualClock
  private let trace: SimulationTrace
  private var generator: SeededGenerator
  private var files: [String: File] = [:]
  /// What each folder's changes were when its own files were last looked at.
  private var seen: [Int: Int] = [:]

  /// The newest that was seen of a file.
  private struct File {
    let owner: Int
    let space: Int
    var bytes: [UInt8]
    var version: Int
  }

  init(
    _ folders: [SimulatedFolder], _ script: SimulationScript, clock: VirtualClock,
    trace: SimulationTrace
  ) {
    (self.folders, self.clock, self.trace) = (folders, clock, trace)
    generator = script.generator(6)
  }

  /// Until the task is cancelled.
  func run() async {
    // Cancellation ends the wait.
    while (try? await clock.sleep(for: pause())) != nil {
      for folder in folders where folder.isConnected { collect(from: folder) }
      for (name, file) in files.sorted(by: { $0.key < $1.key }) {
        for folder in folders where isStale(file, name, in: folder) {
          bring(file, name, to: folder)
        }
      }
    }
  }

  private func pause() -> Duration {
    .milliseconds(Int.random(in: 50...400, using: &generator))
  }

  /// Whether every folder has the newest of every file.
  var isDone: Bool {
    folders.allSatisfy { folder in
      seen[folder.device] == folder.changes
        && files.allSatisfy { !isStale($0.value, $0.key, in: folder) }
    }
  }

  private func collect(from folder: SimulatedFolder) {
    if seen[folder.device] == folder.changes { return }
    seen[folder.device] = folder.changes
    for name in folder.names where folder.carried[name] == nil {
      let bytes = folder.bytes(of: name)
      let old =
        files[name] ?? File(owner: folder.device, space: folder.space, bytes: [], version: 0)
      if old.version > 0, old.bytes == bytes { continue }
      if old.version == 0, name.hasSuffix("-2\(SimulatedFolder.suffix)") {
        folder.trace.saw(.folderFileEnded)
      }
      files[name] = File(
        owner: old.owner, space: old.space, bytes: bytes, version: old.version + 1)
    }
  }

  private func isStale(_ file: File, _ name: String, in folder: SimulatedFolder) -> Bool {
    folder.isConnected && folder.space == file.space && folder.device != file.owner
      && folder.carried[name] != file.version && !folder.hides(name)
  }

  private func bring(_ file: File, _ name: String, to folder: SimulatedFolder) {
    if folder.happens(.fileLate) { return trace.saw(.fileLate) }
    if folder.happens(.filePartial), !file.bytes.isEmpty {
      let common = common(file.bytes, folder.carried[name] == nil ? [] : folder.bytes(of: name))
      let count = Int.random(in: common..<max(file.bytes.count, common + 1), using: &generator)
      trace.note("device \(folder.device) gets \(count) bytes of \(name)")
      trace.saw(.filePartial)
      return folder.put(Array(file.bytes[..<count]), name, version: 0)
    }
    trace.note("device \(folder.device) gets \(name), version \(file.version)")
    folder.put(file.bytes, name, version: file.version)
    if folder.happens(.fileTwice) {
      trace.saw(.fileTwice)
      let stem = name.dropLast(SimulatedFolder.suffix.count)
      folder.put(file.bytes, "\(stem) (2)\(SimulatedFolder.suffix)", version: .max)
    }
  }
}

/// How many bytes both begin with.
private func common(_ left: [UInt8], _ right: [UInt8]) -> Int {
  zip(left, right).prefix { $0 == $1 }.count
}

extension SimulatedFolder {
  /// Puts what a file is now in its place, without syncing it.
  ///
  /// - Parameter version: 0 where it is to be put again.
  fileprivate func put(_ bytes: [UInt8], _ name: String, version: Int) {
    let old = names.contains(name) ? self.bytes(of: name) : []
    let kept = common(bytes, old)
    if bytes.count < old.count || kept < old.count { noteLoss() }
    let folder = path(of: name).dropLast(name.count + 1)
    try? FileManager.default.createDirectory(
      atPath: String(folder), withIntermediateDirectories: true)
    let descriptor = open(path(of: name), O_WRONLY | O_CREAT | O_CLOEXEC, 0o666)
    precondition(descriptor >= 0, "a simulated folder takes no file")
    bytes.withUnsafeBytes { _ = pwrite(descriptor, $0.baseAddress, $0.count, 0) }
    ftruncate(descriptor, off_t(bytes.count))
    close(descriptor)
    let number = status(of: name).st_ino
    synced[number] = min(synced[number] ?? 0, kept)
    carried[name] = version
    stamp(name)
  }
}
#endif
