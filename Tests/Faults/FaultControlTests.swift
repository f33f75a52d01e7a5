import GRDB
import Tern
import TernTesting
import Testing

/// What the sweeps must catch: promises that are not made, and bugs that are planted.
@Suite("Faults that cost something")
struct FaultControlTests {
  private func violations<Subject>(
    _ scenario: Scenario<Subject>, _ fault: Fault
  ) throws -> Set<Invariant> {
    let untouched = try atFixedTime { try Untouched(scenario) }
    var found: Set<Invariant> = []
    for number in 1...500 {
      do {
        let run = FaultRun(untouched: untouched, fault: fault, number: number, seed: 0)
        guard try atFixedTime(perform: run.perform) else { return found }
      } catch let violation as Violation {
        found.insert(violation.invariant)
      }
    }
    Issue.record("no run was untouched")
    return found
  }

  private func scenario(_ setup: App.Setup, _ steps: Scenario<App>.Step...) -> Scenario<App> {
    Scenario(
      name: "control",
      prepare: { disk in
        let app = App(disk, setup)
        try app.open()
        app.abandon()
      },
      makeSubject: { App($0, setup) }, steps: steps)
  }

  private func add(_ id: String) -> Scenario<App>.Step {
    .init(name: "add \(id)") { app in
      try app.store.write { try $0.execute(sql: Catalogue.shelf(id)) }
    }
  }

  @Test(".processCrash survives a kill and loses commits with the power")
  func processCrash() throws {
    let scenario = scenario(App.Setup(durability: .processCrash), add("a"), add("b"), add("c"))
    #expect(try violations(scenario, .kill) == [])
    #expect(try violations(scenario, .killInWrite) == [])
    #expect(try violations(scenario, .powerLoss) == [.localWritesStay])
  }

  /// Which is why `.powerLoss` sets EXTRA there.
  @Test("a journal whose removal is not synced comes back and undoes the commit")
  func journalRemoval() throws {
    let full = Scenario<App>.Step(name: "synchronous = FULL") { app in
      try app.store.database.writeWithoutTransaction {
        try $0.execute(sql: "PRAGMA synchronous = FULL")
      }
    }
    let setup = App.Setup(usesJournal: true)
    #expect(try violations(scenario(setup, add("a"), add("b")), .powerLoss) == [])
    #expect(
      try violations(scenario(setup, full, add("a"), add("b")), .powerLoss) == [.localWritesStay])
  }

  @Test("two transactions are not one")
  func parts() throws {
    let step = Scenario<App>.Step(name: "two transactions") { app in
      try app.execute(Catalogue.shelf("a"))
      try app.execute(Catalogue.shelf("b"))
    }
    let scenario = scenario(App.Setup(), step)
    #expect(try violations(scenario, .kill).contains(.operationsAreAtomic))
    #expect(try violations(scenario, .writeError).contains(.operationsAreAtomic))
  }

  #if Rehearsal
  @Test("a cursor that passes an operation is seen, with a fault and without")
  func cursor() throws {
    let untouched = try atFixedTime { try Untouched(Scenario<App>.newRows()) }
    for number in [1, 20, 1000] {
      #expect(throws: Violation.self) {
        try Planted.with(.cursorEarly) {
          let run = FaultRun(untouched: untouched, fault: .kill, number: number, seed: 0)
          _ = try atFixedTime(perform: run.perform)
        }
      }
    }
  }

  @Test(
    "a snapshot, a new id and a job that do what they must not are seen",
    arguments: [
      (Planted.snapshotTailLost, Invariant.localWritesStay), (.copyForgets, .localWritesStay),
      (.copyKeepsCursor, .cursorFollowsState), (.stepResultApart, .effectsHappenOnce),
      (.claimForgotten, .drains),
    ])
  func planted(_ bug: Planted, _ invariant: Invariant) throws {
    try Planted.with(bug) {
      let found =
        switch bug {
        case .snapshotTailLost: try caught(Scenario<App>.snapshot)
        case .stepResultApart: try caught { Scenario<JobApp>.jobs }
        case .claimForgotten: try caught { Scenario<JobApp>.deaths }
        default: try caught { try Scenario<App>.copy(isTrimmed: false) }
        }
      #expect(found.contains(invariant))
    }
  }

  /// By the untouched run, or by kills.
  private func caught<Subject>(
    _ makeScenario: () throws -> Scenario<Subject>
  ) throws -> Set<Invariant> {
    do {
      return try violations(atFixedTime(perform: makeScenario), .kill)
    } catch let violation as Violation {
      return [violation.invariant]
    }
  }
  #endif
}
