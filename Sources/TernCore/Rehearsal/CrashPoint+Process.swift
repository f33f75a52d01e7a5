/// How a test tells a process of its own where to die, and learns where it did.
@_spi(Rehearsal) extension CrashPoint {
  /// Names a point and the how-manieth time it is reached: `seal.before-commit:3`.
  public static let armVariable = "TERN_CRASH_AT"
  /// A file that takes a line for every point reached; several processes may share it.
  public static let logVariable = "TERN_CRASH_LOG"
  /// Names a planted bug that this process has.
  public static let bugVariable = "TERN_PLANTED"
  /// Follows the point's name in the log where it killed.
  private static let killMark = " killed"

  /// The points that processes have reached, as they wrote them down, and whether they died there.
  public static func read(log: String) -> [(point: CrashPoint, isKill: Bool)] {
    log.split(separator: "\n").map { line in
      let isKill = line.hasSuffix(killMark)
      let name = isKill ? line.dropLast(killMark.count) : line
      return (CrashPoint(rawValue: String(name)), isKill)
    }
  }
}

#if Rehearsal
#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif
import Synchronization

@_spi(Rehearsal) extension CrashPoint {
  /// Lets the environment decide where this process dies by SIGKILL. To be called first of all.
  ///
  /// - Parameter own: points of the program's own, beside Tern's. Any other name ends it.
  public static func armFromEnvironment(own: [CrashPoint] = []) {
    if let name = getenv(bugVariable).map({ String(cString: $0) }) {
      guard let bug = Planted(rawValue: name) else { fatalError("there is no bug “\(name)”") }
      Planted.plant(bug)
    }
    let armed = getenv(armVariable).map { String(cString: $0) }.map { Armed($0, of: ofTern + own) }
    let log = getenv(logVariable).map { open($0, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600) }
    let reached = Mutex(0)
    handle { point in
      var dies = false
      if let armed, point == armed.point {
        dies = reached.withLock { count in
          count += 1
          return count == armed.count
        }
      }
      if let log {
        // One write(2) to an appending descriptor, so that lines of processes do not mix.
        let line = Array((point.rawValue + (dies ? killMark : "") + "\n").utf8)
        precondition(write(log, line, line.count) == line.count, "the crash log takes no line")
      }
      if dies { kill(getpid(), SIGKILL) }
    }
  }

  private struct Armed {
    let point: CrashPoint
    let count: Int

    init(_ text: String, of points: [CrashPoint]) {
      let parts = text.split(separator: ":")
      guard parts.count == 2, let point = points.first(where: { $0.rawValue == parts[0] }),
        let count = Int(parts[1]), count > 0
      else { fatalError("\(armVariable) is a crash point and a count, as seal.before-log:1") }
      (self.point, self.count) = (point, count)
    }
  }
}
#else
@_spi(Rehearsal) extension CrashPoint {
  /// No code at all, as reaching a point is.
  @inlinable
  public static func armFromEnvironment(own: @autoclosure () -> [CrashPoint] = []) {}
}
#endif
