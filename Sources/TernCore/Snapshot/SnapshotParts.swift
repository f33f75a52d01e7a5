/// Reads a snapshot's parts in their order: in memory is one.
package struct SnapshotParts {
  private let part: (Int) throws -> [UInt8]?
  private var last: SnapshotPart.Kind?
  /// How many were read.
  package private(set) var count = 0

  /// - Parameter part: one by its number, from 0; `nil` behind the last.
  package init(_ part: @escaping (Int) throws -> [UInt8]?) { self.part = part }

  /// The next part's kind and content, whose first byte is the kind; `nil` where there is none.
  ///
  /// - Throws: ``WireError``; ``Disorder``; what reading throws.
  package mutating func next() throws -> (kind: SnapshotPart.Kind, content: [UInt8])? {
    guard let bytes = try part(count) else { return nil }
    if isAtEnd { throw Disorder() }
    count += 1
    let content = try SnapshotPart.content(of: bytes)
    guard let first = content.first else { throw WireError(.malformed, "snapshot part") }
    guard let kind = SnapshotPart.Kind(rawValue: first) else { throw Disorder() }
    switch last {
    case nil: guard kind == .heading else { throw Disorder() }
    case let last?:
      guard kind != .heading, kind.rawValue >= last.rawValue else { throw Disorder() }
    }
    last = kind
    return (kind, content)
  }

  /// Whether the last part was read, and so nothing may follow.
  package var isAtEnd: Bool { last == .end }

  /// The parts are none of a snapshot, or not in its order.
  package struct Disorder: Error {
    package init() {}
  }
}
