#if Server && Rehearsal
import Foundation
import TernDatabase

/// How its bytes come to the disk, and a device that dies on the way.
extension SimulatedFolder {
  /// For one life of the app.
  var files: DurableFile {
    var files = DurableFile(
      isSynced: true, write: { [self] in write($0, $1) }, sync: { [self] in sync($0) })
    files.read = { [self] in read($0, $1, $2) }
    return files
  }

  private func write(_ descriptor: CInt, _ bytes: UnsafeRawBufferPointer) -> Int {
    guard death == nil else { return fail() }
    let number = status(descriptor).st_ino
    let start = Int(lseek(descriptor, 0, SEEK_CUR))
    synced[number] = min(synced[number] ?? 0, start)
    changes += 1
    let isLast = happens(.folderDeath)
    let count = isLast ? Int.random(in: 0..<bytes.count, using: &generator) : bytes.count
    let written = Foundation.write(descriptor, bytes.baseAddress, count)
    futimens(descriptor, nextStamp)
    if isLast {
      trace.saw(.diedInWrite)
      die(descriptor)
      return fail()
    }
    return written
  }

  private func sync(_ descriptor: CInt) -> CInt {
    guard death == nil else { return CInt(fail()) }
    if happens(.folderDeath) {
      trace.saw(.diedBeforeSync)
      die(descriptor)
      return CInt(fail())
    }
    let status = status(descriptor)
    if status.st_mode & S_IFMT == S_IFDIR {
      named.formUnion(names.map { self.status(of: $0).st_ino })
    } else {
      synced[status.st_ino] = Int(status.st_size)
    }
    return 0
  }

  private func read(_ descriptor: CInt, _ buffer: UnsafeMutableRawBufferPointer, _ offset: Int)
    -> Int
  {
    if happens(.readFailed) {
      trace.saw(.readFailed)
      return fail()
    }
    return DurableFile.fromDisk(descriptor, buffer, offset)
  }

  private func fail() -> Int {
    errno = EIO
    return -1
  }

  private func status(_ descriptor: CInt) -> stat {
    var status = stat()
    precondition(fstat(descriptor, &status) == 0, "a simulated folder's file can't be looked at")
    return status
  }

  /// What comes behind it is the work of a process that is no more, and is undone by ``bury()``.
  private func die(_ descriptor: CInt) {
    let status = status(descriptor)
    guard status.st_mode & S_IFMT == S_IFREG else {
      death = Death(descriptor: nil, bytes: [])
      return
    }
    var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
    let count = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, 0) }
    precondition(count == bytes.count, "a simulated folder's file is not what it was")
    death = Death(descriptor: dup(descriptor), bytes: bytes)
  }

  /// Leaves the files as a device did that died in a push, perhaps because it lost its power.
  ///
  /// - Returns: whether it did.
  func bury() -> Bool {
    guard let death else { return false }
    self.death = nil
    if let descriptor = death.descriptor {
      death.bytes.withUnsafeBytes { _ = pwrite(descriptor, $0.baseAddress, $0.count, 0) }
      ftruncate(descriptor, off_t(death.bytes.count))
      futimens(descriptor, nextStamp)
      close(descriptor)
      changes += 1
    }
    trace.note("device \(device) died as it wrote to its folder")
    if generator.happens(0.5) { losePower() } else { kill() }
    return true
  }

  /// Of what was not synced there is nothing, a part, or zeros; what was has to be there.
  func losePower() {
    trace.note("device \(device) lost its power")
    noteLoss()
    for name in names {
      let status = status(of: name)
      let (number, size) = (status.st_ino, Int(status.st_size))
      let end = min(synced[number] ?? 0, size)
      if end == size, named.contains(number) { continue }
      if carried[name] != nil { carried[name] = 0 }
      if !named.contains(number), generator.happens(0.5) {
        trace.saw(.powerTookName)
        _ = takeAway(name)
        continue
      }
      trace.saw(.powerTookTail)
      truncate(path(of: name), off_t(Int.random(in: end...size, using: &generator)))
      if generator.happens(0.3) { truncate(path(of: name), off_t(size)) }
      stamp(name)
      synced[number] = Int(self.status(of: name).st_size)
      named.insert(number)
    }
    kill()
  }
}
#endif
