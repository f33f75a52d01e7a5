import Tern
import TernTesting

extension ReplicaStoreConformance {
  func checkSets() throws {
    let peers = try (1...3).map { try StoreUnderTest(self, $0) }
    let (a, b, c) = (peers[0], peers[1], peers[2])
    try a.commit(.insert(["id": "1", "tags": #"["new","old"]"#]))
    try a.meet(b)
    try a.meet(c)
    // Each adds and takes out; one takes out what another, who has seen it, adds to.
    try a.commit(.update(["id": "1", "tags": #"["a","new"]"#]))
    try b.commit(.update(["id": "1", "tags": #"["b","new","old"]"#]))
    try c.commit(.update(["id": "1", "tags": "[]"]))
    try peers.requireSet(#"["a","b"]"#, "three changes at once")
    // An addition that a removal had not seen stays, though the element is the same.
    try a.commit(.update(["id": "1", "tags": #"["b"]"#]))
    try a.commit(.update(["id": "1", "tags": #"["a","b"]"#]))
    try b.commit(.update(["id": "1", "tags": #"["b"]"#]))
    try peers.requireSet(#"["a","b"]"#, "an element taken out and added again")
    try c.commit(.update(["id": "1", "tags": #"["b",1]"#]))
    try peers.requireSet(#"[1,"b"]"#, "an element that everybody had seen, taken out")
    try a.commit(.update(["id": "1", "tags": #"[ "\u00e4", 1.0, 2.5, 1, "q\"\\\n", "b" ]"#]))
    try peers.requireSet(
      #"[1,2.5,"b","q\"\\\u000a","ä"]"#, "texts and numbers in their one form")
    try b.commit(.delete(id: "1"))
    try requireEqual(.convergence, try b.row("1")?.cells, [:], "the cells of a deleted row")
    try b.commit(.insert(["id": "1", "tags": #"["again"]"#]))
    try peers.requireSet(#"["again"]"#, "a set in a new life")
  }
}

extension [StoreUnderTest] {
  /// A removal can come before what it removes: authors are only ordered each by itself.
  fileprivate func requireSet(_ text: SQLiteValue, _ what: String) throws {
    try gather()
    for peer in self {
      try requireEqual(.intentSurvives, try peer.value("1", "tags"), text, what)
      try peer.requireState(of: self[0], what)
    }
  }
}
