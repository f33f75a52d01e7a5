/// What a replica's merged state is at a cursor, table by table: two replicas with the same
/// operations compare theirs, which have to be equal (INV-01).
public struct StateReport: Hashable, Sendable {
  /// Of one table. Not for secrets: it finds damage and faults, and stops nobody who means to
  /// deceive.
  public struct Digest: Hashable, Sendable {
    /// Of the columns and rules as this replica knows them: only equal ones can be compared.
    package var shape: UInt64
    /// Of all rows, in any order.
    package var rows: UInt64

    package init(shape: UInt64, rows: UInt64) {
      self.shape = shape
      self.rows = rows
    }
  }

  public var replica: ReplicaID
  /// Everything before it, and nothing else, is in the state.
  public var cursor: RemoteCursor
  /// Of how many operations of each replica the state holds: a copy of a database that has not
  /// found out that it is one passes over what the other wrote under its id.
  public var operations: UInt64
  /// Whether the state was loaded from a snapshot, because it differed before: it then takes the
  /// place of one that was not.
  package var isRepaired: Bool
  /// By the table's name in small letters.
  package var tables: [String: Digest]

  package init(
    replica: ReplicaID, cursor: RemoteCursor, operations: UInt64, isRepaired: Bool = false,
    tables: [String: Digest]
  ) {
    self.replica = replica
    self.cursor = cursor
    self.operations = operations
    self.isRepaired = isRepaired
    self.tables = tables
  }

  /// The tables that both know in one shape and that hold something else, by name, ascending; none
  /// where the two are not of the same operations.
  package func differingTables(from other: StateReport) -> [String] {
    guard isComparable(to: other) else { return [] }
    return tables.filter { name, digest in
      guard let theirs = other.tables[name] else { return false }
      return theirs.shape == digest.shape && theirs.rows != digest.rows
    }.keys.sorted()
  }

  package func isComparable(to other: StateReport) -> Bool {
    cursor == other.cursor && operations == other.operations
  }

  /// Of a replica at a cursor there is one, and one more once it was repaired.
  package var name: String { "\(cursor.rawValue) \(replica)\(isRepaired ? " repaired" : "")" }

  /// Whether it takes the place of one of the same operations that differs.
  public func replaces(_ other: StateReport) -> Bool { isRepaired && !other.isRepaired }
}

/// What a replica remembers of its last comparison with a state report.
package struct StateComparison: Hashable, Sendable, Codable {
  /// ``StateReport/name`` of the report; `nil` where a snapshot was tried since.
  package var report: String?
  /// Those that differ; none where the states are equal.
  package var tables: [String]
  /// The id of the last snapshot that was tried because of a difference: it is not tried again.
  package var snapshot: String?

  package init(report: String? = nil, tables: [String] = [], snapshot: String? = nil) {
    self.report = report
    self.tables = tables
    self.snapshot = snapshot
  }

  /// Whether it differed from what a replica had reported.
  package func differed(from replica: ReplicaID) -> Bool {
    guard let report, !tables.isEmpty else { return false }
    return ["", " repaired"].contains { report.hasSuffix(" \(replica)\($0)") }
  }
}

/// As it travels and as a server keeps it: numbers in hexadecimal, since JSON's are exact
/// up to 2⁵³.
extension StateReport: Codable {
  private enum CodingKeys: String, CodingKey {
    case replica, cursor, operations, repaired, tables
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    func read<T>(_ text: String?, _ key: CodingKeys, _ value: (String) -> T?) throws -> T {
      guard let value = text.flatMap(value) else {
        throw DecodingError.dataCorruptedError(
          forKey: key, in: container, debugDescription: "no id or number")
      }
      return value
    }
    func number(_ text: String) -> UInt64? { UInt64(text, radix: 16) }
    let tables = try container.decode([String: [String]].self, forKey: .tables)
    self.init(
      replica: try read(container.decode(String.self, forKey: .replica), .replica) {
        ReplicaID($0)
      },
      cursor: RemoteCursor(rawValue: try container.decode(String.self, forKey: .cursor)),
      operations: try read(
        container.decode(String.self, forKey: .operations), .operations, number),
      isRepaired: try container.decodeIfPresent(Bool.self, forKey: .repaired) ?? false,
      tables: try tables.mapValues { numbers in
        try Digest(
          shape: read(numbers.count == 2 ? numbers[0] : nil, .tables, number),
          rows: read(numbers.last, .tables, number))
      })
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(replica.description, forKey: .replica)
    try container.encode(cursor.rawValue, forKey: .cursor)
    try container.encode(String(operations, radix: 16), forKey: .operations)
    if isRepaired { try container.encode(true, forKey: .repaired) }
    try container.encode(
      tables.mapValues { [String($0.shape, radix: 16), String($0.rows, radix: 16)] },
      forKey: .tables)
  }
}

extension VersionVector {
  /// For ``StateReport/operations``.
  package var digest: UInt64 {
    var writer = ByteWriter()
    for (replica, sequence) in sorted {
      writer.append(replica: replica)
      writer.append(fixed: sequence)
    }
    return writer.bytes.withUnsafeBytes { KeyHash.of($0) }
  }
}
