import Tern
import TernTesting

extension ReplicaStoreConformance {
  func checkPlaces() throws {
    var generator = SeededGenerator(seed: 1)
    let (a, b) = (try StoreUnderTest(self, 1), try StoreUnderTest(self, 2))
    func key(_ lower: OrderKey?, _ upper: OrderKey?) throws -> OrderKey {
      guard let key = OrderKey.between(lower, upper, using: &generator) else {
        throw ConformanceFailure(.intentSurvives, "no key stands between two others")
      }
      return key
    }
    let first = try key(nil, nil)
    let last = try key(first, nil)
    try a.commit(
      .insert(["id": "1", "place": .string(first.text)]),
      .insert(["id": "2", "place": .string(last.text)]))
    try b.pull(from: a)
    let (one, other) = (try key(first, last), try key(first, last))
    try a.commit(.insert(["id": "3", "place": .string(one.text)]))
    try b.commit(.insert(["id": "4", "place": .string(other.text)]))
    try a.meet(b)
    let between = one < other ? ["3", "4"] : ["4", "3"]
    for peer in [a, b] {
      try requireEqual(
        .intentSurvives, try peer.order(), ["1"] + between + ["2"], "rows placed at one spot")
    }
    let (front, back) = (try key(nil, first), try key(last, nil))
    try a.commit(.update(["id": "3", "place": .string(front.text)]))
    try b.commit(.update(["id": "3", "name": "moved at the same time"]))
    try b.commit(.update(["id": "3", "place": .string(back.text)]))
    let isBehind = try b.wasWrittenLater(than: a, "3", "place")
    try a.meet(b)
    for peer in [a, b] {
      try requireEqual(
        .intentSurvives, try peer.order(),
        isBehind ? ["1", "4", "2", "3"] : ["3", "1", "4", "2"], "two moves of one row")
    }
    // What is no key is a value like any other.
    for value: SQLiteValue in [.null, "", "no key", .blob([1]), .string(first.text)] {
      try a.commit(.update(["id": "4", "place": value]))
      try a.meet(b)
      for peer in [a, b] {
        try requireEqual(.intentSurvives, try peer.value("4", "place"), value, "what is no key")
      }
    }
    try requireEqual(
      .convergence, try a.store.canonicalState(), try b.store.canonicalState(), "both states")
  }
}

extension StoreUnderTest {
  fileprivate func wasWrittenLater(
    than other: StoreUnderTest, _ key: SQLiteValue, _ column: String
  ) throws -> Bool {
    let (left, right) = (try row(key)?.cells[column], try other.row(key)?.cells[column])
    guard let left, let right else { return left != nil }
    return left.time != right.time ? left.time > right.time : id > other.id
  }

  /// The keys of the rows as `ORDER BY place` gives them.
  fileprivate func order() throws -> [String] {
    let rows = try store.canonicalState().compactMap { row in
      row.cells["place"].map { (place: $0.value, id: row.key[0].string ?? "") }
    }
    return rows.sorted { $0.place < $1.place }.map(\.id)
  }
}
