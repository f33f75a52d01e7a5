import GRDB
import Tern
import TernTesting

/// One run of a scenario with one fault at one operation, and what must hold afterwards.
struct FaultRun<Subject: Program> {
  let untouched: Untouched<Subject>
  let fault: Fault
  /// Which operation is hit, from 1.
  let number: Int
  let seed: UInt64

  private var scenario: Scenario<Subject> { untouched.scenario }
  private var pictures: [Picture] { untouched.pictures }

  /// - Returns: whether the fault hit anything; when not, all later numbers are the same run.
  /// - Throws: ``Violation``.
  func perform() throws -> Bool {
    let disk = try Disk(copying: untouched.disk)
    let subject = scenario.makeSubject(disk)
    defer { subject.abandon() }
    if scenario.startsOpen { try subject.open() }
    let settings = try scenario.startsOpen ? subject.settings() : nil
    disk.arm(fault.armed(at: number, seed: seed))
    let (done, error) = advance(subject, from: 0)
    guard disk.wasHit else {
      if let error { throw Violation(.drains, "no fault, and yet: \(error)") }
      disk.disarm()
      try expect(disk, done, "the untouched run is not as the first one was")
      return false
    }
    if fault.kept == nil {
      try goOn(disk, subject, done, error, settings)
    } else {
      try startAgain(disk, subject, done)
    }
    return true
  }

  /// Runs steps until one fails.
  private func advance(_ subject: Subject, from first: Int) -> (done: Int, error: (any Error)?) {
    for index in first..<scenario.steps.count {
      do { try scenario.steps[index].run(subject) } catch { return (index, error) }
    }
    return (scenario.steps.count, nil)
  }

  // MARK: - The program is told

  /// The failed step left nothing, can be repeated once the disk works again, and then lasts.
  private func goOn(
    _ disk: Disk, _ subject: Subject, _ done: Int, _ error: (any Error)?, _ settings: [String]?
  ) throws {
    var done = done
    if let error {
      try expectDisk(error)
      // While the disk is still out of order the program says so again, or gets through.
      if fault.isLasting {
        let again = advance(subject, from: done)
        if let error = again.error { try expectDisk(error) }
        done = again.done
      }
    }
    disk.disarm()
    if done < scenario.steps.count, scenario.steps[done].isAtomic || scenario.holds != nil {
      let (step, left) = (scenario.steps[done], try look(disk))
      let isNothingLeft =
        left == pictures[done] || step.canFailDone && left == pictures[done + 1]
      guard isNothingLeft || !step.isAtomic else {
        throw Violation(
          .operationsAreAtomic, "\(stepName(done)) failed and left: \(difference(left, done))")
      }
    }
    let (all, failure) = advance(subject, from: done)
    if let failure {
      throw Violation(.drains, "\(stepName(all)) fails with a disk that works again: \(failure)")
    }
    if let settings, try subject.settings() != settings {
      throw Violation(.drains, "a failure left the connection with \(try subject.settings())")
    }
    try disk.cyclePower(keeping: .none)
    try expect(disk, all, "after an error, and losing power later, something else is left")
  }

  /// It names the disk, not something that it would be wrong to act on.
  private func expectDisk(_ error: any Error) throws {
    if Subject.isDisk(error) { return }
    let cause = (error as? DatabaseSetupError)?.underlyingError ?? error
    let codes: [ResultCode] = [.SQLITE_IOERR, .SQLITE_FULL, .SQLITE_CANTOPEN]
    guard let code = (cause as? DatabaseError)?.resultCode, codes.contains(code) else {
      throw Violation(.drains, "the disk failed and the error says something else: \(error)")
    }
  }

  // MARK: - The program died

  private func startAgain(_ disk: Disk, _ subject: Subject, _ done: Int) throws {
    guard let kept = fault.kept else { return }
    try disk.cyclePower(keeping: kept, seed: seed &* 1000 &+ UInt64(number))
    subject.abandon()
    let restarted = scenario.makeSubject(disk)
    defer { restarted.abandon() }
    var next = done
    if scenario.holds != nil { _ = try look(disk) }
    if !scenario.looksBeforeOpening { try reopen(restarted) }
    if done == scenario.steps.count || scenario.steps[done].isAtomic {
      next = try reached(from: done, disk)
    }
    if scenario.looksBeforeOpening, scenario.startsOpen { try reopen(restarted) }
    let (all, failure) = advance(restarted, from: next)
    if let failure { throw Violation(.drains, "\(stepName(all)) after the crash: \(failure)") }
    try expect(disk, all, "what was repeated after the crash leads elsewhere")
  }

  private func reopen(_ subject: Subject) throws {
    do { try subject.open() } catch {
      throw Violation(.localWritesStay, "the crash left what can't be opened: \(error)")
    }
  }

  /// What the crash left: everything acknowledged, and of the step after it all or nothing.
  private func reached(from done: Int, _ disk: Disk) throws -> Int {
    let left = try look(disk)
    if left == pictures[done] { return done }
    if done + 1 < pictures.count, left == pictures[done + 1] { return done + 1 }
    let isEarlier = pictures[..<done].contains(left)
    throw Violation(
      isEarlier ? .localWritesStay : .operationsAreAtomic,
      "\(isEarlier ? "an acknowledged step is lost" : "a step is there in part"), after "
        + "\(stepName(done)): \(difference(left, done))")
  }

  // MARK: - Saying so

  private func look(_ disk: Disk) throws -> Picture {
    try scenario.look(at: disk, hasDied: fault.kept != nil)
  }

  private func expect(_ disk: Disk, _ done: Int, _ what: String) throws {
    let picture = try look(disk)
    guard picture != pictures[done] else { return }
    throw Violation(.convergence, "\(what): \(difference(picture, done))")
  }

  private func difference(_ picture: Picture, _ done: Int) -> String {
    picture.difference(from: pictures[done])
  }

  private func stepName(_ index: Int) -> String {
    index < scenario.steps.count ? "“\(scenario.steps[index].name)”" : "the last step"
  }
}

/// What must hold after a fault does not.
struct Violation: Error, CustomStringConvertible {
  let invariant: Invariant
  let message: String

  init(_ invariant: Invariant, _ message: String) {
    (self.invariant, self.message) = (invariant, message)
  }

  var description: String { "\(invariant): \(message)" }
}
