import Testing

@testable import TernNetwork

@Suite("Transfer: who waits until all is told")
struct TransferReportsTests {
  private let answer = TransferAnswer.response(status: 204, headers: [:], body: [])

  @Test(arguments: [true, false])
  func `who waits is called once all is told and stored, in either order`(_ asksFirst: Bool) {
    var reports = TransferReports<String>()
    var called: [[String]] = []
    _ = reports.add("a", answer, of: 1)
    called.append(asksFirst ? reports.finish("one") : reports.noteAllTold())
    // Stored before the second of the two comes, or after it.
    _ = reports.add("b", answer, of: 2)
    called.append(reports.forget("a"))
    called.append(asksFirst ? reports.noteAllTold() : reports.finish("one"))
    #expect(called == [[], [], []])
    called = [reports.forget("b"), reports.forget("b")]
    #expect(called == [["one"], []])
    // What was told then is not told for the next.
    called = [reports.finish("two"), reports.noteAllTold()]
    #expect(called == [[], ["two"]])
  }

  @Test func `that all is told is kept until somebody asks, whatever is stored meanwhile`() {
    var reports = TransferReports<String>()
    var called = [reports.noteAllTold()]
    _ = reports.add("a", answer, of: 1)
    called += [reports.forget("a"), reports.finish("one"), reports.finish("two")]
    #expect(called == [[], [], ["one"], []])
  }

  @Test func `what was cancelled because nobody wants it holds nobody up`() {
    var reports = TransferReports<String>()
    var called = [reports.finish("one"), reports.forget("a", cancelling: [7])]
    var isNews = reports.add("a", answer, of: 7)
    #expect(!isNews && reports.answers.isEmpty)
    called.append(reports.noteAllTold())
    #expect(called == [[], [], ["one"]])
    // Begun again by that id it is another.
    isNews = reports.add("a", answer, of: 8)
    #expect(isNews && reports.answers.map(\.id) == ["a"])
  }
}
