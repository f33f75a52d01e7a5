#if Server
import TernCore
import TernServer
import TernTesting

/// Uploads, whole snapshots and dropped ones.
enum SnapshotChecks {
  static func checkUpload(_ space: StoreSpace) throws {
    var a = StoreAuthor(1)
    let operations = a.next(2)
    try space.append(operations)
    let heads = [a.id: a.snapshotHead, StoreAuthor(2).id: SnapshotHead(sequence: 7, time: .zero)]
    let parts: [[UInt8]] = [[1, 2, 3], [4], [5, 6]]
    var upload = try space.upload("one", at: 2, parts, isComplete: false, heads: heads)
    func part(_ index: Int, isWhole: Bool) throws -> [UInt8]? {
      try space.store.snapshotPart(index, of: "one", in: space.name, isWhole: isWhole)
    }
    try space.update { transaction in
      try requireEqual(.acknowledgedIsStored, try transaction.snapshot("one"), upload, "an upload")
      try requireEqual(
        .acknowledgedIsStored, try transaction.snapshotHeads(of: "one"), heads, "its heads")
      try requireEqual(
        .acknowledgedIsStored, try transaction.storedParts(of: "one"),
        [
          0: PartDigest(part: parts[0]), 1: PartDigest(part: parts[1]),
          2: PartDigest(part: parts[2]),
        ],
        "its parts' digests")
      try requireEqual(
        .acknowledgedIsStored, try transaction.partDigest(1, of: "one"),
        PartDigest(part: parts[1]), "a part's digest")
      try require(
        .acknowledgedIsStored,
        try transaction.partDigest(3, of: "one") == nil
          && transaction.snapshot("other") == nil && transaction.storedParts(of: "other").isEmpty,
        "something is there that was not uploaded")
    }
    try requireEqual(.limitsHold, try space.usage.bytes, operations.byteCount + 6, "usage with it")
    for index in 0..<3 {
      try requireEqual(
        .acknowledgedIsStored, try part(index, isWhole: false), parts[index], "part \(index)")
      try requireEqual(.operationsAreAtomic, try part(index, isWhole: true), nil, "not whole yet")
    }
    try requireEqual(.operationsAreAtomic, try space.summary.snapshot, nil, "none is whole yet")
    (upload.isComplete, upload.touched) = (true, .at(9))
    let whole = upload
    try space.update { try $0.update(whole) }
    for index in 0..<3 {
      try requireEqual(
        .acknowledgedIsStored, try part(index, isWhole: true), parts[index], "part \(index)")
      try requireEqual(.acknowledgedIsStored, try part(index, isWhole: false), nil, "no upload")
    }
    let summary = try space.summary
    try requireEqual(.acknowledgedIsStored, summary.snapshot, whole, "a whole snapshot")
    try requireEqual(
      .acknowledgedIsStored, summary.snapshotHeads, VersionVector(heads.mapValues(\.sequence)),
      "its heads in the summary")
  }

  static func checkNewest(_ space: StoreSpace) throws {
    var a = StoreAuthor(1)
    try space.append(a.next(6))
    let heads = [a.id: a.snapshotHead]
    let newest = try space.upload("b", at: 4, [[1]], heads: heads)
    let older = try space.upload("c", at: 2, [[2]])
    var uploads = [
      try space.upload("a", at: 6, [[3]], isComplete: false),
      try space.upload("d", at: 5, [[4]], isComplete: false),
    ]
    let summary = try space.summary
    try requireEqual(.acknowledgedIsStored, summary.snapshot, newest, "the newest that is whole")
    try requireEqual(
      .acknowledgedIsStored, summary.snapshotHeads, VersionVector(heads.mapValues(\.sequence)),
      "the newest's heads")
    try requireEqual(.acknowledgedIsStored, summary.refused, nil, "before any refusal")
    for (index, time) in [(0, 20), (1, 10)] {
      uploads[index].refusal = "it lacks a row"
      uploads[index].touched = .at(time)
      let refused = uploads[index]
      try space.update { try $0.update(refused) }
    }
    try requireEqual(.acknowledgedIsStored, try space.summary.refused, .at(20), "the last refusal")
    let all = try space.update { try $0.snapshots() }
    try requireEqual(
      .acknowledgedIsStored, all, [older, newest, uploads[1], uploads[0]],
      "all snapshots, the least position first")
    try space.update { try $0.drop("b", keptFrom: nil) }
    try requireEqual(.acknowledgedIsStored, try space.summary.snapshot, older, "the newest left")
  }

  static func checkDropped(_ space: StoreSpace) throws {
    var a = StoreAuthor(1)
    let operations = a.next(1)
    try space.append(operations)
    let part = [UInt8](repeating: 7, count: 100)
    try space.upload("gone", at: 1, Array(repeating: part, count: 5), isComplete: false)
    try space.upload("stays", at: 1, [part])
    try space.update { try $0.drop("gone", keptFrom: nil) }
    try space.update { transaction in
      try requireEqual(
        .acknowledgedIsStored, try transaction.snapshots().map(\.id), ["stays"], "what is there")
      try requireEqual(
        .acknowledgedIsStored, try transaction.droppedSnapshots(), [], "what can be brought back")
      try requireEqual(.acknowledgedIsStored, try transaction.storedParts(of: "gone"), [:], "parts")
    }
    let lost = try space.store.snapshotPart(0, of: "gone", in: space.name, isWhole: false)
    try requireEqual(.acknowledgedIsStored, lost, nil, "a part of what was dropped")
    try drainDropped(space, contentBytes: 250, largest: 100)
    let usage = try space.usage
    try requireEqual(.limitsHold, usage.bytes, operations.byteCount + 100, "usage after removing")
    try requireEqual(.limitsHold, usage.keptBytes, 0, "kept after removing")
    let stays = try space.store.snapshotPart(0, of: "stays", in: space.name, isWhole: true)
    try requireEqual(.acknowledgedIsStored, stays, part, "a part of what was not dropped")
  }

  /// Removes what was dropped, and finds that no step removes much more than it is told.
  static func drainDropped(_ space: StoreSpace, contentBytes: Int, largest: Int) throws {
    func total() throws -> Int { try space.usage.bytes + space.usage.keptBytes }
    var before = try total()
    try space.drain("removing what was dropped") {
      let isMore = try space.update { try $0.removeDropped(contentBytes: contentBytes) }
      let after = try total()
      try require(
        .limitsHold, (0...contentBytes + largest).contains(before - after),
        "a step of \(contentBytes) bytes removed \(before - after)")
      before = after
      return isMore
    }
  }

  static func checkKept(_ space: StoreSpace) throws {
    var a = StoreAuthor(1)
    let operations = a.next(3)
    try space.append(operations)
    for (id, position, bytes) in [("a", 1, 10), ("b", 2, 20), ("c", 3, 30)] {
      try space.upload(id, at: UInt64(position), [[UInt8](repeating: 1, count: bytes)])
    }
    try space.update { transaction in
      for (id, time) in [("a", 30), ("b", 10), ("c", 20)] {
        try transaction.drop(id, keptFrom: .at(time))
      }
    }
    let usage = try space.usage
    try requireEqual(.limitsHold, usage.keptBytes, 60, "kept of three snapshots")
    try requireEqual(.limitsHold, usage.bytes, operations.byteCount, "usage without them")
    try requireEqual(.acknowledgedIsStored, try space.summary.snapshot, nil, "all were dropped")
    let listed = try space.update { try $0.droppedSnapshots() }
    try requireEqual(.acknowledgedIsStored, listed.map(\.id), ["a", "c", "b"], "the newest first")
    try requireEqual(
      .acknowledgedIsStored, listed.map(\.time), [.at(30), .at(20), .at(10)], "times")
    try requireEqual(.acknowledgedIsStored, listed.map(\.position), [1, 3, 2], "their positions")
    try requireEqual(.acknowledgedIsStored, listed.map(\.bytes), [10, 30, 20], "their bytes")
    var moved = listed[2]
    moved.time = .at(40)
    let later = moved
    try space.update { try $0.update(later) }
    let again = try space.update { try $0.droppedSnapshots() }
    try requireEqual(
      .acknowledgedIsStored, again, [later, listed[0], listed[1]], "after one has another time")
    try drainDropped(space, contentBytes: 1 << 30, largest: 0)
    let rest = try space.update { try $0.droppedSnapshots() }
    try requireEqual(.acknowledgedIsStored, rest, again, "what is kept, after others are removed")
    try requireEqual(.limitsHold, try space.usage.keptBytes, 60, "kept after others are removed")
  }

  static func checkBringBack(_ space: StoreSpace) throws {
    var a = StoreAuthor(1)
    let operations = a.next(2)
    try space.append(operations)
    let heads = [a.id: a.snapshotHead]
    let first = try space.upload("same", at: 1, [[1, 2], [3]], heads: heads)
    try space.update { try $0.drop("same", keptFrom: .at(1)) }
    try space.upload("same", at: 2, [[9]])
    let dropped = try space.update { try $0.droppedSnapshots() }
    try requireEqual(.acknowledgedIsStored, dropped.map(\.id), ["same"], "what was dropped")
    let isTaken = try space.update { try $0.bringBack(dropped[0]) }
    try requireEqual(.acknowledgedIsStored, isTaken, false, "bringing back under a taken name")
    try requireEqual(.limitsHold, try space.usage.keptBytes, 3, "kept while its name is taken")
    try space.update { try $0.drop("same", keptFrom: .at(2)) }
    let both = try space.update { try $0.droppedSnapshots() }
    try requireEqual(.acknowledgedIsStored, both.map(\.position), [2, 1], "one name dropped twice")
    try require(.acknowledgedIsStored, both[0].row != both[1].row, "two dropped ones have one row")
    let isBack = try space.update { try $0.bringBack(both[1]) }
    try requireEqual(.acknowledgedIsStored, isBack, true, "bringing back")
    try requireEqual(.acknowledgedIsStored, try space.summary.snapshot, first, "what came back")
    try space.update { transaction in
      try requireEqual(
        .acknowledgedIsStored, try transaction.snapshotHeads(of: "same"), heads, "with its heads")
      try requireEqual(
        .acknowledgedIsStored, try transaction.droppedSnapshots(), [both[0]], "what is still kept")
    }
    let part = try space.store.snapshotPart(0, of: "same", in: space.name, isWhole: true)
    try requireEqual(.acknowledgedIsStored, part, [1, 2], "with its parts")
    try requireEqual(.limitsHold, try space.usage.bytes, operations.byteCount + 3, "usage with it")
    try requireEqual(.limitsHold, try space.usage.keptBytes, 1, "kept of the other")
  }

  static func checkForgotten(_ space: StoreSpace) throws {
    let part = [UInt8](repeating: 7, count: 100)
    for (id, position) in [("a", 1), ("b", 2)] as [(String, UInt64)] {
      try space.upload(id, at: position, [part, part, part])
      try space.update { try $0.drop(id, keptFrom: .at(Int(position))) }
    }
    let listed = try space.update { try $0.droppedSnapshots() }
    try requireEqual(.acknowledgedIsStored, listed.map(\.id), ["b", "a"], "what was dropped")
    try space.update { try $0.forget(listed[1]) }
    let rest = try space.update { try $0.droppedSnapshots() }
    try requireEqual(.acknowledgedIsStored, rest, [listed[0]], "what can be brought back")
    try drainDropped(space, contentBytes: 150, largest: 100)
    try requireEqual(.limitsHold, try space.usage.keptBytes, 300, "kept of what was not forgotten")
    try requireEqual(.limitsHold, try space.usage.bytes, 0, "usage of what was dropped")
    let isBack = try space.update { try $0.bringBack(listed[0]) }
    try requireEqual(.acknowledgedIsStored, isBack, true, "bringing back the other")
    try requireEqual(.limitsHold, try space.usage.bytes, 300, "usage of what came back")
    try requireEqual(.limitsHold, try space.usage.keptBytes, 0, "kept of nothing")
  }
}
#endif
