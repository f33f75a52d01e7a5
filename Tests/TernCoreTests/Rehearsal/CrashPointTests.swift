#if Rehearsal
import Synchronization
@_spi(Rehearsal) import TernCore
import Testing

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// What is for a whole process is tested in a process of its own.
@Suite("Rehearsal: crash points")
struct CrashPointTests {
  @Test func `no two points have one name`() {
    #expect(Set(CrashPoint.ofTern).count == CrashPoint.ofTern.count)
    #expect(CrashPoint.ofTern.count == 13 + 3 + 2 + 9 + 4 + 7)
  }

  @Test func `a switch takes a point by its name`() {
    let isSealed =
      switch CrashPoint(rawValue: "seal.after-commit") {
      case .sealBeforeLog, .sealBeforeCommit: false
      case .sealAfterCommit: true
      default: false
      }
    #expect(isSealed)
  }

  @Test func `a log says what was reached and where somebody died`() {
    let points = CrashPoint.read(log: "seal.before-log\nmy.own killed\n")
    #expect(points.map(\.point) == [.sealBeforeLog, CrashPoint(rawValue: "my.own")])
    #expect(points.map(\.isKill) == [false, true])
  }

  /// Each read once added two calls to the next, and some thousands took more than the stack.
  @Test func `a point is reached as often as one likes`() async {
    await #expect(processExitsWith: .success) {
      let count = Mutex(0)
      CrashPoint.handle { _ in count.withLock { $0 += 1 } }
      for _ in 0..<100_000 { try CrashPoint.reach(.sealBeforeLog) }
      precondition(count.withLock { $0 } == 100_000)
    }
  }

  @Test func `the environment's point kills at its count, one of the program's own too`() async {
    await #expect(processExitsWith: .signal(SIGKILL)) {
      setenv(CrashPoint.armVariable, "my.own:2", 1)
      CrashPoint.armFromEnvironment(own: [CrashPoint(rawValue: "my.own")])
      try CrashPoint.reach(.sealBeforeLog)
      try CrashPoint.reach(CrashPoint(rawValue: "my.own"))
      try CrashPoint.reach(CrashPoint(rawValue: "my.own"))
    }
  }

  @Test(arguments: ["seal.before-log", "seal.before-log:0", "seal.before-log:1:1", "my.other:1"])
  func `what is no point and count ends the process`(_ text: String) async {
    await #expect(processExitsWith: .failure) { [text] in
      setenv(CrashPoint.armVariable, text, 1)
      CrashPoint.armFromEnvironment(own: [CrashPoint(rawValue: "my.own")])
    }
  }
}
#endif
