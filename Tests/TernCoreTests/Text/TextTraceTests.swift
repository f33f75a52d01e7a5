import EditingTraces
import TernCore
import Testing

/// What people typed: their texts come out as they did, whoever merges.
@Suite("Text: traces of what people typed")
struct TextTraceTests {
  private static let isPresent = EditingTrace.isPresent("clownschool")

  @Test(
    .enabled(if: isPresent, "there is no ../shared/data/traces"),
    arguments: ["clownschool", "friendsforever"])
  func `a trace of two who typed at once ends in its text on every side`(_ name: String) throws {
    let trace = try EditingTrace(name)
    let ids = (0..<(trace.numAgents ?? 1)).map { ReplicaID(high: UInt64($0 + 1), low: 0) }
    var replicas = ids.map { _ in TextSequence() }
    var known = ids.map { _ in Array(repeating: false, count: trace.txns.count) }
    var made: [Int: (agent: Int, edit: TextEdit?)] = [:]
    for burst in trace.bursts {
      let agent = try #require(trace.txns[burst.lowerBound].agent)
      // A version is named by the burst's last transaction.
      var open = trace.txns[burst.lowerBound].parents ?? []
      var missing: [Int] = []
      while let version = open.popLast() {
        if known[agent][version] { continue }
        known[agent][version] = true
        missing.append(version)
        open.append(contentsOf: trace.txns[version].parents ?? [])
      }
      for version in missing.sorted() {
        guard let change = made[version], let edit = change.edit else { continue }
        _ = replicas[agent].apply(.edit(edit), by: ids[change.agent], UInt64(version + 1))
      }
      var edits = TextEdits(count: TextHistory.count(replicas[agent].text))
      for patch in trace.txns[burst].flatMap(\.patches) {
        edits.replace(patch.position..<patch.position + patch.removed, with: patch.inserted)
      }
      let last = burst.upperBound - 1
      let edit = replicas[agent].edit(edits.delta)
      if let edit { _ = replicas[agent].apply(.edit(edit), by: ids[agent], UInt64(last + 1)) }
      for index in burst { known[agent][index] = true }
      made[last] = (agent, edit)
    }
    for agent in ids.indices {
      for version in trace.txns.indices where !known[agent][version] {
        guard let change = made[version], let edit = change.edit else { continue }
        _ = replicas[agent].apply(.edit(edit), by: ids[change.agent], UInt64(version + 1))
      }
      #expect(String(decoding: replicas[agent].text, as: UTF8.self) == trace.endContent)
    }
    #expect(Set(replicas.map(\.stored)).count == 1)
  }

  @Test(.enabled(if: isPresent, "there is no ../shared/data/traces"))
  func `a paper's edits come to its text, within 2.5 bytes a character`() throws {
    let trace = try EditingTrace("automerge-paper")
    var edits = TextEdits(count: 0)
    var text: [UInt8] = []
    var sequence = TextSequence()
    let author = ReplicaID(high: 1, low: 1)
    let patches = trace.txns.flatMap(\.patches)
    var operation: UInt64 = 0
    for start in stride(from: 0, to: patches.count, by: 5000) {
      edits = TextEdits(count: TextHistory.count(text))
      for patch in patches[start..<min(start + 5000, patches.count)] {
        edits.replace(patch.position..<patch.position + patch.removed, with: patch.inserted)
      }
      operation += 1
      let made = sequence.edit(edits.delta)
      let edit = try #require(made)
      _ = sequence.apply(.edit(edit), by: author, operation)
      text = try #require(edits.delta.applied(to: text))
    }
    #expect(String(decoding: text, as: UTF8.self) == trace.endContent)
    #expect(sequence.text == text)
    let cell = TextCell(sequence)
    #expect(try cell.sequence().text == text)
    #expect(Double(cell.byteCount + text.count) <= 2.5 * Double(text.count))
  }
}
