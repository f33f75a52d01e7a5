import Tern
import TernTesting

extension ReplicaStoreConformance {
  func checkTexts() throws {
    let peers = try (1...3).map { try StoreUnderTest(self, $0) }
    let (a, b, c) = (peers[0], peers[1], peers[2])
    try a.commit(.insert(["id": "1", "body": "The quick fox"]))
    try a.meet(b)
    try a.meet(c)
    // Each at another place, and one in what another removes.
    try a.commit(.update(["id": "1", "body": "The quick brown fox"]))
    try b.commit(.update(["id": "1", "body": "The fox jumps"]))
    try c.commit(.update(["id": "1", "body": "The quick, quick fox"]))
    try peers.requireText("three edits at once") { text in
      ["brown", "jumps", "The", "fox", ", quick"].allSatisfy { text.contains($0) }
    }
    // Two at one place: each stays together, over several operations.
    try a.commit(.update(["id": "1", "body": ""]))
    try peers.requireText("a removal of all", ["": true])
    for (peer, words) in [(b, ["one", "one two", "one two three"]), (c, ["1", "1 2", "1 2 3"])] {
      for word in words { try peer.commit(.update(["id": "1", "body": .string(word)])) }
    }
    try peers.requireText(
      "two who typed at once", ["one two three1 2 3": true, "1 2 3one two three": true])
    try a.commit(.update(["id": "1", "body": "é🐦\u{0}\n"]))
    try peers.requireText("scalars of every length", ["é🐦\u{0}\n": true])
    try b.commit(.delete(id: "1"))
    try requireEqual(.convergence, try b.row("1")?.cells, [:], "the cells of a deleted row")
    try b.commit(.insert(["id": "1", "body": "again"]))
    try peers.requireText("a text in a new life", ["again": true])
    // The same row on two devices, with one text and with two.
    for peer in [a, b] {
      try peer.commit(.insert(["id": "2", "body": "same"]))
      try peer.commit(.insert(["id": "3", "body": .string("of \(peer.id)")]))
    }
    try peers.gather()
    try requireEqual(.intentSurvives, try c.value("2", "body"), "same", "one text of two devices")
    let both = try c.value("3", "body")?.string ?? ""
    try require(
      .intentSurvives, both.contains("of \(a.id)") && both.contains("of \(b.id)"),
      "two texts of two devices became \(both)")
  }
}

extension [StoreUnderTest] {
  fileprivate func requireText(
    _ what: String, _ allowed: [String: Bool]
  ) throws {
    try requireText(what) { allowed[$0] ?? false }
  }

  fileprivate func requireText(
    _ what: String, _ isRight: (String) -> Bool
  ) throws {
    try gather()
    for peer in self {
      let text = try peer.value("1", "body")?.string
      try require(
        .intentSurvives, text.map(isRight) ?? false, "\(what) made \(text ?? "nothing")")
      try peer.requireState(of: self[0], what)
    }
  }
}
