import TernCore
import Testing

@testable import TernNetwork

@Suite("Path: what a system's monitor reports of the network")
struct PathReportsTests {
  private let reports = PathReports<String>()

  private func note(_ name: String, hasRoute: Bool = true, isExpensive: Bool = false) {
    reports.note(name, hasRoute: hasRoute, isExpensive: isExpensive, isConstrained: false)
  }

  @Test("the first report is no other network where there is a route, as was guessed")
  func first() {
    note("wifi")
    #expect(reports.relay.path == NetworkPath(hasRoute: true, generation: 0))
    note("other wifi")
    #expect(reports.relay.path == NetworkPath(hasRoute: true, generation: 1))
  }

  @Test("what it says besides is known, and told")
  func expense() async {
    var changes = reports.relay.changes(keeping: UnknownPathSource()).makeAsyncIterator()
    #expect(await changes.next()?.isExpensive == false)
    note("mobile", isExpensive: true)
    let path = NetworkPath(hasRoute: true, generation: 0, isExpensive: true)
    #expect(reports.relay.path == path)
    #expect(await changes.next() == path)
  }

  @Test("the first report is a change where the guess was wrong")
  func wrongGuess() {
    note("none", hasRoute: false)
    #expect(reports.relay.path == NetworkPath(hasRoute: false, generation: 1))
  }

  @Test("the first report is a change where requests have found out something else")
  func corrected() {
    reports.relay.correct(0, hasRoute: false, isCaptive: true)
    note("wifi")
    #expect(reports.relay.path == NetworkPath(hasRoute: true, generation: 2))
    let other = PathReports<String>()
    other.relay.correct(0, hasRoute: false, isCaptive: false)
    other.note("none", hasRoute: false, isExpensive: false, isConstrained: false)
    // It is not doubted any more.
    #expect(other.relay.path == NetworkPath(hasRoute: false, generation: 2))
  }

  @Test("a report that is as the one before is none")
  func repeated() {
    for _ in 1...3 { note("wifi") }
    #expect(reports.relay.path.generation == 0)
    note("none", hasRoute: false)
    note("none", hasRoute: false)
    #expect(reports.relay.path.generation == 1)
    note("wifi")
    #expect(reports.relay.path.generation == 2)
  }
}
