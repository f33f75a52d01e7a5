import Tern
import TernCore
import Testing

@testable import TernJobs

@Suite("Decision: the life of a job")
struct JobLifeTests {
  @Test func `a service is charged for what no network explains`() {
    var (before, after) = (steady, steady)
    before.pathAfter.generation += 1
    after.pathAfter.hasRoute = false
    for advice in [FailureAdvice.unreachable, .interrupted(isLocal: false)] {
      #expect(JobLife.Event.failed(advice, steady).costsService)
      #expect(!JobLife.Event.failed(advice, before).costsService)
      #expect(!JobLife.Event.failed(advice, after).costsService)
    }
    for advice in [FailureAdvice.failed, .interrupted(isLocal: true)] {
      #expect(JobLife.Event.failed(advice, before).costsService)
    }
    #expect(!JobLife.Event.failed(.permanent, steady).costsService)
  }

  private let steady = JobLife.Circumstances(
    pathBefore: NetworkPath(hasRoute: true, generation: 1),
    pathAfter: NetworkPath(hasRoute: true, generation: 1))

  private func running(failures: Int = 0, unreached: Int = 0) -> JobLife {
    JobLife(state: .running, failures: failures, unreached: unreached)
  }

  @Test func `four counted failures are the end`() {
    var life = running()
    for wait in [1, 2, 4] {
      #expect(life.handle(.failed(.failed, steady)) == .wait(.seconds(wait)))
      #expect(life.handle(.claimed) == .none)
    }
    #expect(life.handle(.failed(.failed, steady)) == .none)
    #expect(life.state == .failed)
  }

  @Test(arguments: [FailureAdvice.unreachable, .limited(delay: nil), .limited(delay: .seconds(5))])
  func `what is not the job's doing never counts`(_ advice: FailureAdvice) {
    var life = running(failures: 3)
    for _ in 1...50 {
      _ = life.handle(.failed(advice, steady))
      #expect(life.state == .waiting)
      _ = life.handle(.claimed)
    }
    #expect(life.failures == 3)
  }

  @Test func `a pause is as long as was asked for, within reason`() {
    func pause(_ delay: Duration?) -> JobLife.Action {
      var life = running()
      return life.handle(.failed(.limited(delay: delay), steady))
    }
    #expect(pause(.seconds(7)) == .closeGate(.seconds(7)))
    #expect(pause(nil) == .closeGate(.seconds(30)))
    #expect(pause(.seconds(-7)) == .closeGate(.seconds(1)))
    #expect(pause(.zero) == .closeGate(.seconds(1)))
    #expect(pause(.seconds(1 << 40)) == .closeGate(.seconds(86_400)))
  }

  @Test func `waits for the network grow, are jittered and have a limit`() {
    var around = steady
    around.backoff = Backoff(base: .seconds(1), limit: .seconds(60))
    var life = running()
    var waits: [JobLife.Action] = []
    for jitter in [1, 0.5, 0, 1, 1, 1, 1, 1] {
      around.jitter = jitter
      waits.append(life.handle(.failed(.unreachable, around)))
      _ = life.handle(.claimed)
    }
    #expect(waits == [1, 1, 0.1, 8, 16, 32, 60, 60].map { .wait(.seconds($0)) })
    around.pathAfter.hasRoute = false
    around.jitter = 0
    #expect(life.handle(.failed(.unreachable, around)) == .wait(.seconds(60)))
  }

  @Test func `a path that changed meanwhile begins the waits anew`() {
    var around = steady
    around.pathAfter.generation = 2
    var life = running(unreached: 9)
    #expect(life.handle(.failed(.interrupted(isLocal: false), around)) == .wait(Backoff().base))
    #expect(life.unreached == 1)
    #expect(life.failures == 0)
  }

  @Test func `what broke unseen too often counts, where there is a route`() {
    var around = steady
    around.pathBefore.hasRoute = false
    for (breaks, hasRoute) in [(3, true), (4, false)] {
      (around.unseenBreaks, around.pathAfter.hasRoute) = (breaks, hasRoute)
      var life = running()
      _ = life.handle(.failed(.interrupted(isLocal: false), around))
      #expect(life == JobLife(state: .waiting, unreached: 1))
    }
    (around.unseenBreaks, around.pathAfter.hasRoute) = (4, true)
    var life = running(failures: 1, unreached: 4)
    #expect(life.handle(.failed(.interrupted(isLocal: false), around)) == .wait(.seconds(2)))
    #expect(life == JobLife(state: .waiting, failures: 2))
    life = running(unreached: 4)
    _ = life.handle(.failed(.unreachable, around))
    #expect(life == JobLife(state: .waiting, unreached: 5))
  }

  @Test func `death and shutdown cost nothing and wait for nothing`() {
    for event in [JobLife.Event.processDied(limit: 5), .shutDown] {
      var life = running(failures: 2, unreached: 1)
      #expect(life.handle(event) == .wait(.zero))
      let deaths = event == .shutDown ? 0 : 1
      #expect(life == JobLife(state: .waiting, failures: 2, unreached: 1, deaths: deaths))
    }
  }

  @Test func `deaths in a row park a job, and any other end forgets them`() {
    var life = JobLife(state: .running, deaths: 3)
    #expect(life.handle(.processDied(limit: 4)) == .none)
    #expect(life.state == .parked)
    for event in [JobLife.Event.shutDown, .failed(.unreachable, steady), .failed(.failed, steady)] {
      var life = JobLife(state: .running, deaths: 3)
      _ = life.handle(event)
      #expect(life.deaths == 0)
    }
  }

  @Test func `a checkpoint and a revival forget failures`() {
    var life = running(failures: 3, unreached: 2)
    #expect(life.handle(.checkpoint) == .none)
    #expect(life == running())
    for state in [JobState.failed, .parked] {
      var life = JobLife(state: state, failures: 4, unreached: 1)
      #expect(life.handle(.revived) == .wait(.zero))
      #expect(life == JobLife(state: .waiting))
    }
  }

  @Test func `who is told when to come has reached somebody, and who waits for an upload may not`()
  {
    var life = running(failures: 2, unreached: 3)
    _ = life.handle(.failed(.limited(delay: .seconds(5)), steady))
    #expect(life == JobLife(state: .waiting, failures: 2))
    life = running(failures: 2, unreached: 3)
    _ = life.handle(.entrusted(for: .seconds(5)))
    #expect(life == JobLife(state: .waiting, failures: 2, unreached: 3))
  }

  #if os(Linux) || os(macOS)
  @Test func `what cannot happen traps`() async {
    await #expect(processExitsWith: .failure) {
      var life = JobLife(state: .done)
      _ = life.handle(.claimed)
    }
  }
  #endif
}
