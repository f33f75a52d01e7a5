import Tern
import TernTesting

extension ReplicaStoreConformance {
  func checkLives() throws {
    let (a, b) = (try StoreUnderTest(self, 1), try StoreUnderTest(self, 2))
    try a.commit(.insert(["id": "1", "name": "A", "count": 5, "high": 9]))
    try b.pull(from: a)
    try b.commit(.update(["id": "1", "name": "B", "count": 6]))
    try a.commit(.delete(id: "1"))
    try a.meet(b)
    for peer in [a, b] {
      let row = try peer.row("1")
      try requireEqual(.convergence, row?.life, 2, "the life of a deleted row")
      try requireEqual(.convergence, row?.cells, [:], "the cells of a deleted row")
      try requireEqual(.convergence, row?.isShown, false, "whether a deleted row is shown")
    }
    try b.commit(.insert(["id": "1", "note": "new", "count": 1]))
    try a.meet(b)
    for peer in [a, b] {
      let row = try peer.row("1")
      try requireEqual(.convergence, row?.life, 3, "the life of a row that came again")
      try requireEqual(.convergence, row?.isShown, true, "whether it is shown")
      try requireEqual(.intentSurvives, try peer.value("1", "count"), 1, "its new counter")
      try requireEqual(.intentSurvives, try peer.value("1", "high"), .null, "its new maximum")
      try requireEqual(.intentSurvives, try peer.value("1", "note"), "new", "its new value")
    }
    try a.commit(.delete(id: "1"))
    try b.commit(.delete(id: "1"))
    try a.meet(b)
    try requireEqual(.convergence, try a.row("1")?.life, 4, "the life after two deletes")
  }

  func checkColumns() throws {
    let (a, b) = (try StoreUnderTest(self, 1), try StoreUnderTest(self, 2))
    try a.commit(.insert(["id": "1", "name": "A", "note": "A"]))
    try b.pull(from: a)
    try a.commit(.update(["id": "1", "name": "A2"]))
    try b.commit(.update(["id": "1", "note": "B2"]))
    try a.meet(b)
    for peer in [a, b] {
      try requireEqual(.intentSurvives, try peer.value("1", "name"), "A2", "one's column")
      try requireEqual(.intentSurvives, try peer.value("1", "note"), "B2", "the other's column")
    }
    let values: [SQLiteValue] = [
      1, 1.0, 0.0, .null, -0.0, "", .blob([]), .blob([0, 255]), .text([0xFF]),
      .integer(.min), .integer(.max), .real(.infinity), .real(.leastNonzeroMagnitude),
    ]
    for value in values {
      try a.commit(.update(["id": "1", "name": value]))
      try b.pull(from: a)
      try requireEqual(.intentSurvives, try b.value("1", "name"), value, "a value that travelled")
    }
  }

  func checkCounters() throws {
    let (a, b) = (try StoreUnderTest(self, 1), try StoreUnderTest(self, 2))
    try a.commit(.insert(["id": "1", "count": 10]))
    try b.pull(from: a)
    try a.commit(.update(["id": "1", "count": 13]))
    try b.commit(.update(["id": "1", "count": 6]))
    try a.meet(b)
    for peer in [a, b] {
      try requireEqual(.intentSurvives, try peer.value("1", "count"), 9, "10 + 3 - 4")
    }
    try a.commit(.update(["id": "1", "count": .integer(.max)]))
    try b.commit(.update(["id": "1", "count": .integer(.max)]))
    try a.meet(b)
    for peer in [a, b] {
      try requireEqual(
        .intentSurvives, try peer.value("1", "count"), .integer(.max), "a sum over 64 bits")
    }
    // 9 + 2 · (max − 9) − (max − 0): the part beyond 64 bits was kept.
    try a.commit(.update(["id": "1", "count": 0]))
    try a.meet(b)
    for peer in [a, b] {
      try requireEqual(
        .intentSurvives, try peer.value("1", "count"), .integer(.max - 9), "a sum that came back")
    }
    try a.commit(.update(["id": "1", "count": .integer(.min)]))
    try b.commit(.update(["id": "1", "count": .integer(.min)]))
    try a.meet(b)
    for peer in [a, b] {
      try requireEqual(
        .intentSurvives, try peer.value("1", "count"), .integer(.min), "a sum below 64 bits")
    }
    try requireEqual(
      .convergence, try a.store.canonicalState(), try b.store.canonicalState(), "both states")
  }

  func checkExtremes() throws {
    let (a, b) = (try StoreUnderTest(self, 1), try StoreUnderTest(self, 2))
    try a.commit(.insert(["id": "1", "high": .null, "low": .null]))
    try b.pull(from: a)
    // From SQLite's least to its greatest.
    let ordered: [SQLiteValue] = [
      .real(-.infinity), .integer(.min), -1.5, -1, 0, 1, 1.5, .integer(1 << 53), "", "a", .blob([]),
    ]
    for pair in zip(ordered, ordered.dropFirst()) {
      try a.commit(.update(["id": "1", "high": pair.1, "low": pair.0]))
      try b.commit(.update(["id": "1", "high": pair.0, "low": pair.1]))
      try a.meet(b)
      for peer in [a, b] {
        try requireEqual(.intentSurvives, try peer.value("1", "high"), pair.1, "the greater")
        try requireEqual(.intentSurvives, try peer.value("1", "low"), ordered[0], "the least")
      }
    }
    try a.commit(.update(["id": "1", "high": .null, "low": .null]))
    try requireEqual(
      .intentSurvives, try a.value("1", "high"), ordered.last, "a maximum that met NULL")
    try a.meet(b)
    try requireEqual(
      .convergence, try a.store.canonicalState(), try b.store.canonicalState(), "both states")
  }
}
