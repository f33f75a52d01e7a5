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
    #expect(tally["a world with a shared folder beside servers"] == 2)
    #expect(tally.missing.contains("a world with two servers"))
    #expect(tally["a server is wiped"] == 2 && tally["a file is back"] == 2)
    #expect(!tally.missing.contains("a file is back"))
    #expect(tally.missing.contains("a device dies"))
    #expect(tally.missing.contains("the server says snapshot-needed"))
    #expect(tally.table.contains("2  a server is wiped\n"))
    #expect(tally.table.contains("0  a device dies\n"))
  }

  @Test func `what a world is counts as what happens in it does`() throws {
    let script = try SimulationScript(
      text: """
        simulation 3
        device 0 space 0 servers 0,1 version 2 clock -7200000
        device 1 space 0 servers 0 version 1 clock 7200000
        device 2 space 0 servers 1 version 1 clock -86400000
        device 3 space 0 servers 1 version 1 clock 0
        device 4 space 0 servers 1 version 1 clock -7199999
        """)
    let outcome = Simulation.run(script)
    #expect(outcome.violation == nil)
    #expect(outcome.tally["a world with two servers"] == 1)
    #expect(outcome.tally["a world of five to eight replicas"] == 1)
    #expect(outcome.tally["a device's clock begins hours behind"] == 2)
    #expect(outcome.tally["a space ends with both versions of the schema"] == 1)
    #expect(outcome.tally.missing.contains("a world with a shared folder beside servers"))
  }
}
#endif
