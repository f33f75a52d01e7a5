#if Server && Rehearsal
import SimulationKit
import Testing

@Suite struct TallyTests {
  @Test func `what happened in some world is counted, and what happened in none is missing`() throws
  {
    let script = try SimulationScript(
      text: """
        simulation 3
        device 0 space 0 servers 0,folder version 1 clock 0
        device 1 space 0 servers folder version 1 clock 0
        100 device 0 write 5
        9000 device 1 hide 3
        12000 device 1 hide 4
        14000 server 0 wipe 5
        """)
    let outcome = Simulation.run(script)
    #expect(outcome.violation == nil)
    let tally = Tally([outcome.tally, outcome.tally])
    #expect(tally["a server is wiped"] == 2 && tally["a file is back"] == 2)
    #expect(!tally.missing.contains("a file is back"))
    #expect(tally.missing.contains("a copy takes a new id"))
    #expect(tally.missing.contains("the server says snapshot-needed"))
    #expect(tally.table.contains("2  a server is wiped\n"))
    #expect(tally.table.contains("0  a copy takes a new id\n"))
  }
}
#endif
