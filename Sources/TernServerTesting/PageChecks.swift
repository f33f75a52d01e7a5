#if Server
import TernCore
import TernServer
import TernTesting

/// What a page has, and where it ends.
enum PageChecks {
  static func checkPageBytes(_ space: StoreSpace) throws {
    var a = StoreAuthor(1)
    let all = a.next(6, bytes: 100)
    try space.append(all)
    let size = all[0].operation.bytes.count
    let cases: [(bytes: Int, count: Int)] = [
      (0, 1), (size - 1, 1), (size, 1), (2 * size - 1, 1), (2 * size, 2), (3 * size + 1, 3),
      (6 * size, 6), (9 * size, 6),
    ]
    for (bytes, count) in cases {
      let page = try space.page(contentBytes: bytes)
      try requireEqual(
        .limitsHold, page.operations, all.prefix(count).encoded, "a page of \(bytes) bytes")
      try requireEqual(
        .cursorFollowsState, page.end, UInt64(count), "where a page of \(bytes) bytes ends")
      try requireEqual(
        .cursorFollowsState, page.lastChain, all.chains[count - 1],
        "the chain at the end of a page of \(bytes) bytes")
      try requireEqual(.cursorFollowsState, page.head, 6, "the head that a page says")
    }
    try checkWalk(space, all) { try space.page(after: $0, contentBytes: 2 * size + 1) }
  }

  static func checkPageOperations(_ space: StoreSpace) throws {
    var a = StoreAuthor(1)
    let all = a.next(7)
    try space.append(all)
    for count in [1, 2, 6, 7, 8] {
      let page = try space.page(operations: count)
      try requireEqual(
        .limitsHold, page.operations, all.prefix(count).encoded, "a page of \(count) operations")
      try requireEqual(
        .cursorFollowsState, page.end, UInt64(min(count, 7)), "where a page of \(count) ends")
      try require(.cursorFollowsState, !page.endsBeforeBase, "a page ends before no base")
    }
    try checkWalk(space, all) { try space.page(after: $0, operations: 3) }
    let last = try space.page(after: 7)
    try require(
      .cursorFollowsState, last.operations.isEmpty && last.end == 7 && last.lastChain == nil,
      "a page after the head spans \(last)")
  }

  static func checkExcluded(_ space: StoreSpace) throws {
    var (a, b) = (StoreAuthor(1), StoreAuthor(2))
    let (first, own, last) = (a.next(1), b.next(4), a.next(1))
    let all = first + own + last
    try space.append(all)
    let whole = try space.page(excluding: b.id)
    try requireEqual(
      .acknowledgedIsStored, whole.operations, (first + last).encoded, "a page without an author")
    try requireEqual(.cursorFollowsState, whole.end, 6, "where a page without an author ends")
    // Positions count, though there is nothing to read of them.
    let within = try space.page(after: 1, excluding: b.id, operations: 3)
    try requireEqual(.limitsHold, within.operations, [], "a page of what is left out")
    try requireEqual(.limitsHold, within.end, 4, "where a page of what is left out ends")
    try requireEqual(
      .cursorFollowsState, within.lastChain, all.chains[3], "the chain after what is left out")
    let size = first[0].operation.bytes.count
    let short = try space.page(excluding: b.id, contentBytes: size)
    try requireEqual(.limitsHold, short.operations, first.encoded, "a page of one operation")
    try require(
      .cursorFollowsState, (1...5).contains(short.end), "a page without an author ends \(short)")
    try requireEqual(
      .cursorFollowsState, short.lastChain, all.chains[Int(short.end) - 1], "the chain at its end")
    try checkWalk(space, first + last, of: 6) {
      try space.page(after: $0, excluding: b.id, operations: 2)
    }
  }

  static func checkPageBase(_ space: StoreSpace) throws {
    var a = StoreAuthor(1)
    let before = a.next(2)
    try space.append(before)
    let digest = OperationDigest(base: "base")
    let heads = [a.id: a.head]
    let chain = try space.update { try $0.appendBase(digest, heads: heads) }
    let after = a.next(2)
    try space.append(after)
    let first = try space.page()
    try requireEqual(.cursorFollowsState, first.operations, before.encoded, "a page before a base")
    try requireEqual(.cursorFollowsState, first.end, 2, "where a page before a base ends")
    try require(.cursorFollowsState, first.endsBeforeBase, "a page doesn't say that a base is next")
    let nothing = try space.page(after: 2)
    try require(
      .cursorFollowsState,
      nothing.operations.isEmpty && nothing.endsBeforeBase && nothing.end == 2
        && nothing.lastChain == nil,
      "a page at a base has \(nothing)")
    let second = try space.page(after: 3)
    try requireEqual(.cursorFollowsState, second.operations, after.encoded, "a page after a base")
    try require(.cursorFollowsState, !second.endsBeforeBase, "a page after a base ends before one")
    try requireEqual(.cursorFollowsState, second.chainBefore, chain, "the chain at a base")
  }

  /// Goes from page to page.
  private static func checkWalk(
    _ space: StoreSpace, _ expected: [NewOperation], of count: Int? = nil,
    _ page: (UInt64) throws -> StoredPage
  ) throws {
    var (place, given): (UInt64, [[UInt8]]) = (0, [])
    try space.drain("going from page to page") {
      let next = try page(place)
      given += next.operations
      let isMore = next.end > place
      place = next.end
      return isMore
    }
    try requireEqual(.cursorFollowsState, given, expected.encoded, "what all pages have")
    try requireEqual(
      .cursorFollowsState, place, UInt64(count ?? expected.count), "where the last page ends")
  }
}
#endif
