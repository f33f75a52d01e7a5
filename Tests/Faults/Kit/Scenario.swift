import GRDB

/// A program with its files on a disk, as a run opens, drives and loses it.
protocol Program: AnyObject, SendableMetatype {
  /// The database file's name.
  static var fileName: String { get }
  init(_ disk: Disk)
  /// Opens what is not open yet; after a failure it can be called again.
  func open() throws
  /// Settings of the writing connection that a failure must not change.
  func settings() throws -> [String]
  /// Whether an error of the program's own kind says that the disk is out of order.
  static func isDisk(_ error: any Error) -> Bool
  /// Lets go of everything, whether or not the disk still answers.
  func abandon()
}

/// Something a program does, in steps that a restarted program can go on from.
struct Scenario<Subject: Program>: Sendable {
  struct Step: Sendable {
    let name: String
    /// Whether it is one transaction: a crash leaves all of it or nothing.
    var isAtomic = true
    /// Whether it reads on behind its commit, so that it can fail with everything done, and is to bear
    /// being repeated then.
    var canFailDone = false
    let run: @Sendable (Subject) throws -> Void
  }

  let name: String
  /// Whether the program is open when the faults begin, and opening is not what is tried.
  var startsOpen = true
  /// Whether what a crash left is looked at before the program opens it again; after, where opening
  /// changes nothing that is looked at.
  var looksBeforeOpening = true
  /// Makes what is on the disk before.
  let prepare: @Sendable (Disk) throws -> Void
  let makeSubject: @Sendable (Disk) -> Subject
  let steps: [Step]
  /// Columns, as `table.column`, that count lives and attempts: another number after a fault.
  var counting: Set<String> = []
  /// What must be true of the file whenever no transaction is open, also in the middle of a step that
  /// is several; asked before the program opens it again.
  var holds: (@Sendable (Database, _ hasDied: Bool) throws -> Void)?
  /// Looks at what the untouched run ends with.
  var check: @Sendable (Subject) throws -> Void = { _ in }
}

/// The scenario as it goes without faults: what every other run is compared with.
struct Untouched<Subject: Program>: Sendable {
  let scenario: Scenario<Subject>
  let disk: Disk
  /// Before the first step, and after each.
  let pictures: [Picture]

  init(_ scenario: Scenario<Subject>) throws {
    self.scenario = scenario
    disk = try Disk()
    try scenario.prepare(disk)
    // Of what a program has closed, nothing is lost.
    try disk.cyclePower(keeping: .all)
    let copy = try Disk(copying: disk)
    let subject = scenario.makeSubject(copy)
    defer { subject.abandon() }
    // Looking at a file makes it, so a program that is to make it itself has another disk.
    let first = scenario.startsOpen ? copy : try Disk(copying: disk)
    if scenario.startsOpen { try subject.open() }
    var pictures = [try scenario.look(at: first)]
    for step in scenario.steps {
      try step.run(subject)
      pictures.append(try scenario.look(at: copy))
    }
    try scenario.check(subject)
    self.pictures = pictures
  }
}

extension Scenario {
  /// The file's content, through a connection of its own.
  func look(at disk: Disk, hasDied: Bool = false) throws -> Picture {
    let queue = try DatabaseQueue(path: disk.path(Subject.fileName))
    defer { try? queue.close() }
    return try queue.read { db in
      try holds?(db, hasDied)
      return try Picture(db, without: counting)
    }
  }
}
