import Testing

@testable import TernJobs

@Suite("Decision: what a lane knows of its credential")
struct CredentialLifeTests {
  private let now = WallTime(milliseconds: 1_000_000)
  private let old = CredentialMark(value: 1)
  private let new = CredentialMark(value: 2)

  private func after(
    _ events: [CredentialLife.Event], each seconds: Int64 = 1
  ) -> (refused: CredentialMark?, isHeld: Bool)? {
    var life: CredentialLife?
    for (number, event) in events.enumerated() {
      let time = WallTime(milliseconds: now.milliseconds + Int64(number) * seconds * 1000)
      life = CredentialLife.after(event, life, at: time)
    }
    return life.map { ($0.refused, $0.isHeld) }
  }

  @Test func `the first refusal lets the app be asked, and the second holds the lane`() throws {
    let first = try #require(after([.refused(old)]))
    #expect(first == (old, false))
    let second = try #require(after([.refused(old), .refused(new)]))
    #expect(second == (new, true))
  }

  @Test func `several that were sent at once are one refusal`() throws {
    let life = try #require(after([.refused(old), .refused(old), .refused(old)]))
    #expect(life == (old, false))
  }

  @Test func `a lane whose app has no other is held until that may have changed`() throws {
    let events: [CredentialLife.Event] = [.refused(old), .missing]
    #expect(try #require(after(events)) == (old, true))
    // What was refused stays so.
    #expect(try #require(after(events + [.changed])) == (old, false))
    #expect(try #require(after([.missing])) == (nil, true))
  }

  @Test func `a credential that is accepted forgets the one before`() {
    #expect(after([.refused(old), .accepted(new)]) == nil)
    #expect(after([.refused(old), .missing, .changed, .accepted(new)]) == nil)
    #expect(after([.accepted(new), .changed]) == nil)
    // An answer from before the refusal.
    #expect(after([.refused(old), .accepted(old)])?.refused == old)
  }

  @Test func `a refusal long after the last is the first again`() throws {
    let life = try #require(after([.refused(old), .refused(new)], each: 600))
    #expect(life == (new, false))
  }

  @Test func `a mark tells credentials apart, and queues`() {
    let mark = CredentialMark(of: "token", queue: "a")
    #expect(mark == CredentialMark(of: "token", queue: "a"))
    #expect(mark != CredentialMark(of: "other", queue: "a"))
    #expect(mark != CredentialMark(of: "token", queue: "b"))
  }
}
