import Foundation
import ReplicaStoreKit
import Tern
import Testing

/// What an operation that no honest replica writes does to a device that pulls it: it is put aside,
/// by name, or changes what it speaks of and nothing else.
@Suite("Merge: operations that no honest replica writes")
struct HostilePeerTests {
  /// A body that can't be read, and what is said of it.
  struct Unreadable: CustomTestStringConvertible {
    let testDescription: String
    let field: String
    let operation: @Sendable (inout Forger) -> SyncOperation
  }

  static let unreadable: [Unreadable] = [
    Unreadable(testDescription: "NaN", field: "value") {
      $0.row([4] + [UInt8](repeating: 0xFF, count: 8))
    },
    Unreadable(testDescription: "NaN in a key", field: "key") {
      $0.row([0], key: [4] + [UInt8](repeating: 0xFF, count: 8))
    },
    Unreadable(testDescription: "−0.0 in a key", field: "key") {
      $0.row([0], key: Forger.packed(-0.0))
    },
    Unreadable(testDescription: "a table's name that is not UTF-8", field: "table name") {
      $0.write { $0.append(raw: [2, 0xC3, 0x28, 1]) }
    },
    Unreadable(testDescription: "a column's name that is not UTF-8", field: "column") {
      $0.write { $0.append(raw: [1, 0x74, 0, 1, 1, 0x6B, 1, 2, 0xC0, 0x80, 0, 3]) }
    },
    Unreadable(testDescription: "a count of columns over its limit", field: "column count") {
      $0.row([UInt8](repeating: 0, count: 2001), columns: (0...2000).map { ("c\($0)", 0) })
    },
    Unreadable(testDescription: "a life over its limit", field: "row") {
      $0.row([0], life: BodyLimit.life + 2)
    },
    Unreadable(testDescription: "text for a counter", field: "counter") {
      $0.row(Forger.packed("many"), columns: [("count", 1)])
    },
    Unreadable(testDescription: "a length beyond the body", field: "value") {
      $0.row([0xFD, 0xFF, 0xFF, 0xFF, 0x7F])
    },
    Unreadable(testDescription: "a table in two blocks", field: "table twice") {
      $0.write { writer in
        for name in ["item", "ITEM"] {
          writer.append(block: BodyBlock(table: name, keyColumns: ["id"], columns: []))
          writer.appendEndOfBlock()
        }
      }
    },
    Unreadable(testDescription: "a set changed twice", field: "column changed twice") {
      $0.twice(rule: .set, SetChange(added: ["a"]).bytes, SetChange(added: ["b"]).bytes)
    },
    Unreadable(testDescription: "a text changed twice", field: "column changed twice") {
      $0.twice(
        rule: .text, TextChange.initial([65]).bytes, TextChange.initial([66]).bytes)
    },
  ]

  @Test(arguments: ReplicaStoreKind.allCases, unreadable)
  func `a body that can't be read is put aside and named`(
    _ kind: ReplicaStoreKind, _ attack: Unreadable
  ) async throws {
    let meeting = try await HostileMeeting(kind)
    var forger = Forger()
    let bad = attack.operation(&forger)
    let good = forger.row(Forger.packed("good"))
    try await meeting.sync(with: ScriptedRemote(giving: [bad, good]))
    let counts = try meeting.store.counts()
    #expect(counts.pending[.unreadable] == 1)
    #expect(counts.pending.first?.replica == Forger.id)
    #expect(counts.pending.first?.sequence == 1)
    #expect(counts.pending.first?.detail.contains(attack.field) == true)
    #expect(try meeting.store.canonicalState().contains { $0.key == ["forged"] })
    try await meeting.checkIntact()
  }

  static let names = [
    "'; DROP TABLE item; --", "\"; DELETE FROM item; --", "item\"; --", "item\u{0}", "]", "%s?1:x",
    "grdb_tern_main_log", "sqlite_master", String(repeating: "n", count: 1 << 20),
  ]

  @Test(arguments: ReplicaStoreKind.allCases, names)
  func `names are compared and never run`(_ kind: ReplicaStoreKind, _ name: String) async throws {
    let meeting = try await HostileMeeting(kind)
    var forger = Forger()
    let attacks = [
      forger.row(Forger.packed("x"), of: name), forger.row(Forger.packed("x"), keys: [name]),
      forger.row(
        Forger.packed("x", .string(name)), key: Forger.packed(.string(name)),
        columns: [(name, 0), ("name", 0)]),
    ]
    try await meeting.sync(with: ScriptedRemote(giving: attacks))
    #expect(try meeting.store.counts().pending[.schema] == 3)
    #expect(try meeting.store.counts().pending[.unreadable] == 0)
    let row = try meeting.store.canonicalState().first { $0.key == [.string(name)] }
    #expect(row?.cells.mapValues(\.value) == ["name": .string(name)])
    try await meeting.checkIntact()
  }

  @Test(arguments: [1, 1.5, -7, .integer(.max)] as [SQLiteValue])
  func `a key that its column would change is deferred`(_ key: SQLiteValue) async throws {
    let meeting = try await HostileMeeting(.sqlite)
    var forger = Forger()
    let (typed, text) = (Forger.packed(key), Forger.packed(.string(key.description)))
    let attacks = [
      forger.row(Forger.packed("typed"), key: typed), forger.row(Forger.packed("text"), key: text),
    ]
    try await meeting.sync(with: ScriptedRemote(giving: attacks))
    #expect(try meeting.store.counts().pending[.schema] == 1)
    let rows = try meeting.store.canonicalState().filter { $0.author == Forger.id }
    #expect(rows.map(\.key) == [[.string(key.description)]])
    #expect(rows.first?.cells["name"]?.value == "text")
    try await meeting.checkIntact()
  }

  @Test(arguments: ReplicaStoreKind.allCases)
  func `one sequence with two contents keeps the first, and is counted`(_ kind: ReplicaStoreKind)
    async throws
  {
    let meeting = try await HostileMeeting(kind)
    var (forger, liar) = (Forger(), Forger())
    let first = forger.row(Forger.packed("first"))
    let second = liar.row(Forger.packed("second"))
    try await meeting.sync(with: ScriptedRemote(giving: [first, second, first]))
    #expect(try meeting.store.counts().conflicts[.sameSequence] == 1)
    // An honest replica's number, too, and one of the device's own.
    liar.author = HostileMeeting.friendID
    liar.sequence = 0
    var own = liar
    own.author = HostileMeeting.id
    let others = [liar.row(Forger.packed("x")), own.row(Forger.packed("x"))]
    let error = await #expect(throws: RemoteError.self) {
      try await meeting.sync(with: ScriptedRemote(giving: others))
    }
    #expect(error?.code == .sequenceConflict)
    // The SQLite store has left its id, since the remote says that it has nothing under that.
    #expect([HostileMeeting.id, HostileMeeting.friendID].contains(error?.replica))
    #expect(try meeting.store.counts().conflicts[.sameSequence] == 3)
    let row = try meeting.store.canonicalState().first { $0.key == ["forged"] }
    #expect(row?.cells["name"]?.value == "first")
    try await meeting.checkIntact(isForked: true)
  }

  @Test(arguments: ReplicaStoreKind.allCases)
  func `more replicas than an operation can name are told in several`(_ kind: ReplicaStoreKind)
    async throws
  {
    let meeting = try await HostileMeeting(kind)
    let forged = (1...UInt64(SyncOperation.Limit.seen) + 5).map { number in
      var forger = Forger(author: ReplicaID(high: 7, low: number))
      return forger.write()
    }
    try await meeting.sync(with: ScriptedRemote(giving: forged))
    for number in 1...2 {
      try meeting.device.write([.insert(["id": .string("after \(number)")])])
      try meeting.store.seal()
    }
    let own = try meeting.store.operations(lackedBy: VersionVector(), maximumBytes: .max)
      .filter { $0.envelope.replica == HostileMeeting.id }.suffix(2)
    #expect(own.map(\.envelope.seen.sequences.count) == [SyncOperation.Limit.seen, 6])
    for operation in own { #expect(try SyncOperation(bytes: operation.bytes) == operation) }
    try await meeting.checkIntact()
  }

  @Test(arguments: ReplicaStoreKind.allCases)
  func `a row at the end of its lives takes nothing else along`(_ kind: ReplicaStoreKind)
    async throws
  {
    let meeting = try await HostileMeeting(kind)
    var forger = Forger()
    let last = forger.row(Forger.packed("immortal"), life: BodyLimit.life)
    try await meeting.sync(with: ScriptedRemote(giving: [last]))
    try meeting.device.write([.delete(id: "forged"), .insert(["id": "beside"])])
    try meeting.store.seal()
    #expect(try meeting.store.counts().largeRows == ["item": 1])
    let sealed = try meeting.store.operations(lackedBy: VersionVector(), maximumBytes: .max)
      .filter { $0.envelope.replica == HostileMeeting.id }
    #expect(sealed.compactMap { $0.bodyError() } == [])
    // Everybody else gets what was written beside it.
    try await meeting.sync(with: meeting.honest)
    try await HostileMeeting.sync(meeting.friend, with: meeting.honest)
    #expect(try meeting.friend.store.canonicalState().contains { $0.key == ["beside"] })
    #expect(try meeting.friend.store.counts().pending[.unreadable] == 0)
    #expect(try meeting.store.counts().largeRows == ["item": 1])
  }

  @Test(arguments: ReplicaStoreKind.allCases)
  func `−0.0 and text that is not UTF-8 are values like others`(_ kind: ReplicaStoreKind)
    async throws
  {
    let meeting = try await HostileMeeting(kind)
    let values: [SQLiteValue] = [-0.0, .text([0xC3, 0x28, 0x00, 0xFF]), .real(.infinity)]
    var forger = Forger()
    let operations = values.enumerated().map { number, value in
      forger.row(Forger.packed(value), key: Forger.packed(.string("\(number)")))
    }
    try await meeting.sync(with: ScriptedRemote(giving: operations))
    let state = try meeting.store.canonicalState()
    for (number, value) in values.enumerated() {
      let row = state.first { $0.key == [.string("\(number)")] }
      #expect(row?.cells["name"]?.value == value)
    }
    try await meeting.checkIntact()
  }

  @Test(arguments: ReplicaStoreKind.allCases)
  func `a time at the end of time waits, whatever the remote's clock shows`(
    _ kind: ReplicaStoreKind
  ) async throws {
    let meeting = try await HostileMeeting(kind)
    var forger = Forger()
    let latest = HybridTime(rawValue: UInt64(Int64.max))
    let attack = forger.write(at: latest) { _ in }
    let remote = ScriptedRemote(giving: [attack], now: Date(milliseconds: .max))
    try await meeting.sync(with: remote)
    #expect(try meeting.store.counts().pending[.clock] == 1)
    try await meeting.checkIntact()
    let times = meeting.honest.operations.map(\.envelope.time.milliseconds)
    #expect(try #require(times.max()) < Forger.now + 3_600_000)
  }
}
