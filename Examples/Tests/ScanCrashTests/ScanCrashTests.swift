#if Rehearsal
import ScanCrashKit
import RecognizerKit
import ExampleRehearsals
@_spi(Rehearsal) import Tern
import Testing

/// The scan flow with real processes of `scan` and `recognizer`. `script/crash scan` runs more.
@Suite("Crashes of a scan", .serialized, .timeLimit(.minutes(20)))
struct ScanCrashTests {
  @Test("a scan killed at every boundary, whatever the service does wrong, is one row and whole")
  func matrix() async {
    // In a short rehearsal every point dies a few times, and every misbehaviour comes up.
    let tally = await ScanCampaign.matrix().rehearsed(oneOf: 16).run()
    print(tally.table)
    #expect(tally.violations == [])
    // No misbehaviour keeps a scan from its boundaries.
    #expect(tally.unreached == [])
    for point in ScanTally.points {
      #expect(tally.killed[point, default: 0] > 0, "nobody died at \(point.rawValue)")
    }
  }

  @Test("each misbehaviour that the service knows is one of the rounds'")
  func misbehaviours() throws {
    let asked = try ScanMisbehaviour.allCases.flatMap { try Misbehaviour.list($0.rawValue) }
    // Who leaves one out says here why.
    #expect(Set(asked.map(\.kind)) == Set(MisbehaviourKind.allCases))
  }

  @Test("kills of scans at random moments lose nothing and repeat nothing")
  func random() async {
    let kills = Rehearsal.count(300, short: 5)
    let seed = Rehearsal.isLong ? 1 : Rehearsal.seed
    let tally = await ScanCampaign.atRandom(kills, seed: seed).run()
    print(tally.table)
    #expect(tally.violations == [])
    #expect(tally.killCount == kills)
  }
}
#endif
