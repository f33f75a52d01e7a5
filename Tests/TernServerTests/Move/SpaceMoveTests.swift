#if Server
import Foundation
import TernCore
import Testing

@testable import TernServer

@Suite("Move: a space between stores", .timeLimit(.minutes(4)))
struct SpaceMoveTests {
  private func phase(of space: SpaceName = .home, in store: any MovableStore) throws -> SpacePhase?
  {
    guard try store.spaces().contains(space) else { return nil }
    return try store.summary(of: space).standing.phase
  }

  @Test(arguments: MoveWay.allCases)
  func `everything arrives, bit for bit, and the other store serves it`(_ way: MoveWay) throws {
    let stores = try MovingStores(way, others: true)
    for space in MovingStores.spaces {
      let before = try MovedPicture(stores.from, space)
      // The tables are all there, and none of `home` is empty.
      #expect(space != .home || before.rows.values.allSatisfy { !$0.isEmpty })
      #expect(space != .home || before.rows.count == SpaceTable.all.count)
      #expect(try stores.move(space).run())
      #expect(try MovedPicture(stores.to, space) == before)
      #expect(try phase(of: space, in: stores.from) == .moved)
      #expect(try phase(of: space, in: stores.to) == .served)
      #expect(try !stores.move(space).run())
    }
    let service = stores.service(of: stores.source)
    for space in MovingStores.spaces { #expect(try service.removeSpace(space)) }
    #expect(try stores.from.spaces().isEmpty && stores.from.tokens().isEmpty)
  }

  @Test(arguments: MoveWay.allCases)
  func `a device goes on with its cursor, and what it repeats is acknowledged`(
    _ way: MoveWay
  ) throws {
    var stores = try MovingStores(way)
    let before = stores.service(of: stores.source)
    let (greeting, cursor) = (try before.greet(.home), try before.end())
    try stores.move().run()
    let after = stores.service(of: stores.target)
    #expect(try after.greet(.home) == greeting)
    try after.authorize(stores.token, for: .home)
    let nothing = try after.pull(from: .home, after: cursor)
    #expect(nothing.operations.isEmpty && nothing.cursor == cursor)
    // The last of its operations again, which the source has acknowledged before.
    let known = try everythingKept(before: stores, after)
    #expect(try after.push(known, to: .home).accepted == 0)
    let new = stores.ada.write(count: 2)
    #expect(try after.push(new, to: .home).accepted == 2)
    #expect(try after.pull(from: .home, after: cursor).operations == new)
    // What was trimmed before can still be brought back.
    #expect(try after.restore(.home).operations > 0)
    try after.endRestore(.home)
    stores.target.clock.now += 96_000
    try maintain(after)
  }

  private func everythingKept(before stores: MovingStores, _ after: SpaceService) throws
    -> [SyncOperation]
  {
    let page = try after.pull(from: .home, after: after.greet(.home).snapshot?.cursor)
    #expect(!page.operations.isEmpty)
    return page.operations
  }

  /// Being suspended is the operator's wish and moves along; being frozen is the move's and ends
  /// with it.
  @Test(arguments: MoveWay.across)
  func `a suspended space is suspended where it was moved to`(_ way: MoveWay) throws {
    var stores = try MovingStores(way)
    let (before, after) = (
      stores.service(of: stores.source), stores.service(of: stores.target)
    )
    let operation = stores.ada.write()
    func push(_ service: SpaceService) -> RemoteError.Code? {
      refusal { _ = try service.push([operation], to: .home) }?.code
    }
    try before.asOperator.suspend(.home)
    let horizon = try before.asOperator.horizon(of: .home)
    #expect(push(before) == .spaceSuspended)
    var frozen: [RemoteError.Code?] = []
    try stores.move { step in
      guard step == .compare else { return }
      frozen += [push(before), refusal { try before.asOperator.resume(.home) }?.code]
    }.run()
    #expect(frozen == [.unavailable, .unavailable])
    #expect(push(before) == .spaceMoved)
    #expect(push(after) == .spaceSuspended)
    #expect(try after.asOperator.horizon(of: .home) == horizon)
    try after.asOperator.resume(.home)
    #expect(push(after) == nil)
  }

  // MARK: - What ends it in the middle

  /// At which steps of a move it ends: at all of them between files, and elsewhere at the first and
  /// the last of each kind.
  private func ends(_ way: MoveWay) throws -> [Int] {
    var kinds: [String] = []
    try MovingStores(way).move { kinds.append("\($0)".prefix { $0 != "(" }.lowercased()) }.run()
    #expect(Set(kinds).count == 11)
    if way == .fileToFile { return Array(kinds.indices) }
    return kinds.indices.filter {
      kinds.firstIndex(of: kinds[$0]) == $0 || kinds.lastIndex(of: kinds[$0]) == $0
    }
  }

  /// How many of two stores take what is pushed.
  private func takers(_ stores: inout MovingStores) throws -> Int {
    let operation = stores.ada.write("to whoever takes it")
    var takers = 0
    for test in [stores.source, stores.target] {
      // A space of that name would be made where there is none.
      guard try MovingStores.movable(test).spaces().contains(.home) else { continue }
      let service = stores.service(of: test)
      guard refusal({ _ = try service.push([operation], to: .home) }) == nil else { continue }
      takers += 1
    }
    if takers == 0 { stores.ada.sequence -= 1 }
    return takers
  }

  @Test(arguments: MoveWay.across)
  func `killed before any step, one store at the most takes pushes, and a second run goes on`(
    _ way: MoveWay
  ) throws {
    for last in try ends(way) {
      var stores = try MovingStores(way)
      var left = last
      var step: SpaceMove.Step?
      #expect(throws: Killed.self) {
        try stores.move {
          step = $0
          if left == 0 { throw Killed() }
          left -= 1
        }.run()
      }
      let acknowledged = try takers(&stores)
      // Frozen or served by one.
      let isFrozen = try phase(in: stores.from) == .frozen && phase(in: stores.to) != .served
      #expect(acknowledged == (isFrozen ? 0 : 1), "before \(String(describing: step))")
      let before = try step == .finish ? nil : MovedPicture(stores.from, .home)
      let after = stores.service(of: stores.target)
      #expect(try stores.move().run())
      #expect(try phase(in: stores.from) == .moved && phase(in: stores.to) == .served)
      if let before { #expect(try MovedPicture(stores.to, .home) == before) }
      #expect(try after.greet(.home).heads[stores.ada.replica] == stores.ada.sequence)
      #expect(try after.push([stores.ada.write()], to: .home).accepted == 1)
    }
  }

  @Test(arguments: MoveWay.across)
  func `taken back before any step but the last, the source is as before`(_ way: MoveWay) throws {
    for last in try ends(way) {
      let stores = try MovingStores(way)
      let before = try MovedPicture(stores.from, .home)
      var (left, step) = (last, SpaceMove.Step?.none)
      #expect(throws: Killed.self) {
        try stores.move {
          step = $0
          if left == 0 { throw Killed() }
          left -= 1
        }.run()
      }
      if step == .finish {
        let error = #expect(throws: SpaceMoveError.self) { try stores.move().cancel() }
        #expect(error?.code == .over)
        try stores.move().run()
        continue
      }
      try stores.move().cancel()
      #expect(try MovedPicture(stores.from, .home) == before)
      #expect(try phase(in: stores.from) == .served && phase(in: stores.to) == nil)
      try stores.move().cancel()
    }
  }

  @Test(arguments: MoveWay.across)
  func `what devices and maintenance do meanwhile arrives too`(_ way: MoveWay) throws {
    let stores = try MovingStores(way)
    let (service, clock) = (stores.service(of: stores.source), stores.source.clock)
    var author = stores.ada
    var (pushed, isTrimmed) = (0, false)
    let move = stores.move { step in
      switch step {
      case .copyOperations, .copySnapshots, .copyPart:
        guard refusal({ _ = try service.push([author.write("more")], to: .home) }) == nil else {
          author.sequence -= 1
          return
        }
        pushed += 1
        if pushed == 3 {
          // Bytes that were copied are removed, a snapshot gives way and an upload goes.
          try service.upload(
            SnapshotOffer("f", at: service.end(), of: [author, stores.bob], version: 2))
          _ = try service.pull(from: .home, after: service.end(), excluding: MovingStores.eve)
          clock.now += 96_000
          try maintain(service)
          isTrimmed = true
        }
      default: break
      }
    }
    try move.run()
    stores.target.clock.now = clock.now
    #expect(pushed > 5 && isTrimmed)
    // The source is as it was when it froze.
    #expect(try MovedPicture(stores.to, .home) == MovedPicture(stores.from, .home))
    let after = stores.service(of: stores.target)
    #expect(try after.greet(.home).heads[author.replica] == author.sequence)
  }

  @Test func `of two moves at once one is told, and the space moves once`() throws {
    for stop in [SpaceMove.Step.copyOperations(after: 3), .settle, .open, .finish] {
      let stores = try MovingStores(.fileToFile)
      let before = try MovedPicture(stores.from, .home)
      var isDone = false
      let first = stores.move { step in
        guard step == stop, !isDone else { return }
        isDone = true
        try stores.move().run()
      }
      do {
        try first.run()
      } catch let error as SpaceMoveError {
        #expect(error.code == .interrupted)
      }
      #expect(isDone, "\(stop)")
      #expect(try phase(in: stores.from) == .moved && phase(in: stores.to) == .served)
      #expect(try MovedPicture(stores.to, .home) == before)
    }
  }

  @Test func `a move that is taken back meanwhile opens nothing`() throws {
    for stop in [SpaceMove.Step.copySnapshots, .freeze, .compare, .open] {
      let stores = try MovingStores(.fileToFile)
      var isDone = false
      let error = #expect(throws: SpaceMoveError.self) {
        try stores.move { step in
          guard step == stop, !isDone else { return }
          isDone = true
          try stores.move().cancel()
        }.run()
      }
      #expect(error?.code == .interrupted)
      #expect(try phase(in: stores.from) == .served && phase(in: stores.to) == nil)
    }
  }

  @Test func `a space that is deleted meanwhile is not moved`() throws {
    let stores = try MovingStores(.fileToFile)
    let service = stores.service(of: stores.source)
    let error = #expect(throws: SpaceMoveError.self) {
      try stores.move { step in
        if step == .copySnapshots { try service.removeSpace(.home) }
      }.run()
    }
    #expect(error?.code == .interrupted)
    #expect(try phase(in: stores.from) == nil && phase(in: stores.to) == .arriving)
    try stores.move().cancel()
    #expect(try phase(in: stores.to) == nil)
  }

  // MARK: - There and back

  @Test(arguments: MoveWay.across)
  func `a space comes back to its first store, and keeps its epoch`(_ way: MoveWay) throws {
    var stores = try MovingStores(way)
    let first = stores.service(of: stores.source)
    let (cursor, epoch) = (try first.end(), try first.greet(.home).epoch)
    try stores.move().run()
    let second = stores.service(of: stores.target)
    _ = try second.push([stores.ada.write()], to: .home)
    let back = SpaceMove(.home, from: stores.to, to: stores.from)
    let error = #expect(throws: SpaceMoveError.self) { try back.run() }
    #expect(error?.code == .taken)
    try first.removeSpace(.home)
    try back.run()
    #expect(try first.greet(.home).epoch == epoch)
    #expect(try first.pull(from: .home, after: cursor).operations.count == 1)
    // A space that is made where it was meanwhile is another one.
    try second.removeSpace(.home)
    var other = Author(20)
    _ = try second.push(other.write(count: 30), to: .home)
    #expect(refusal { _ = try second.pull(from: .home, after: cursor) }?.code == .cursorUnknown)
  }

  @Test func `a space that moved twice has the epoch of the first store`() throws {
    let stores = try MovingStores(.fileToFile)
    let third = try StoreKind.sqlite.open(seed: 3)
    let epoch = try stores.from.summary(of: .home).standing.epoch
    try stores.move().run()
    try SpaceMove(.home, from: stores.to, to: MovingStores.movable(third)).run()
    #expect(try third.store.summary(of: .home).standing.epoch == epoch)
    #expect(try stores.to.summary(of: .home).standing.phase == .moved)
  }
}
#endif
