import Foundation
import GRDB
import TernCore

/// Where the keys of a re-keyed table come from.
public struct RekeyIdentifiers: Sendable {
  struct Derivation: Sendable {
    let columns: [String]
    let namespace: String
    let condition: String?
  }
  let derivation: Derivation?
  let draw: @Sendable () -> UUID

  /// A random UUID for each row: no two devices give the same one.
  public static let random = RekeyIdentifiers(derivation: nil, draw: { drawn() })

  /// A UUID made of a row's content: rows with the same values in `columns` get the same one on
  /// every device, so that devices which hold the same rows have each of them once after syncing.
  ///
  /// Either what names the row in the world, an ISBN or a user's name, or the old key where all
  /// devices got the rows with the same numbers, from one bundled database:
  ///
  /// ```swift
  /// try db.rekeyForSync("genre", identifiers: .derived(from: ["name"]))
  /// try db.rekeyForSync("word", identifiers: .derived(from: ["id"], where: "id <= 5000"))
  /// ```
  ///
  /// The UUID is of version 8: the first half of the SHA-256 of the namespace, the table's name and
  /// the values. It is the same in every version of Tern. Text counts by its bytes, numbers by type
  /// and value.
  ///
  /// - Parameters:
  ///   - columns: of the table, the key and `rowid` included. A column that refers to another
  ///     re-keyed table gives equal UUIDs if that one was re-keyed before, and by derivation.
  ///   - namespace: tells apart what must not be the same, e.g. two editions of a bundled database.
  ///   - condition: an SQL expression over the table's columns; rows for which it does not hold get
  ///     random UUIDs.
  public static func derived(
    from columns: [String], namespace: String = "", where condition: String? = nil
  ) -> RekeyIdentifiers {
    RekeyIdentifiers(
      derivation: Derivation(columns: columns, namespace: namespace, condition: condition),
      draw: { drawn() })
  }

  private static func drawn() -> UUID {
    // An injected default.
    UUID()
  }

  /// The same, with the source of random identifiers given.
  package func drawing(_ draw: @escaping @Sendable () -> UUID) -> RekeyIdentifiers {
    RekeyIdentifiers(derivation: derivation, draw: draw)
  }
}

extension RekeyIdentifiers.Derivation {
  /// Each text with its length before it, so that no two lists of values are the same bytes.
  ///
  /// - Source: RFC 9562, section 5.8.
  func identifier(table: String, _ values: [DatabaseValue]) -> UUID {
    var bytes: [UInt8] = []
    func append(number: UInt64) {
      withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
    }
    func append(_ content: some Collection<UInt8>) {
      append(number: UInt64(content.count))
      bytes.append(contentsOf: content)
    }
    append(namespace.utf8)
    append(table.folded.utf8)
    for value in values {
      switch value.storage {
      case .null: bytes.append(UInt8(ascii: "n"))
      case .int64(let number):
        bytes.append(UInt8(ascii: "i"))
        append(number: UInt64(bitPattern: number))
      case .double(let number):
        bytes.append(UInt8(ascii: "r"))
        append(number: number.bitPattern)
      case .string(let text):
        bytes.append(UInt8(ascii: "t"))
        append(text.utf8)
      case .blob(let data):
        bytes.append(UInt8(ascii: "b"))
        append(data)
      }
    }
    var name = ContentName.of(bytes).bytes
    name[6] = name[6] & 0x0F | 0x80
    name[8] = name[8] & 0x3F | 0x80
    return name.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
  }
}

extension RekeyStorage {
  /// The type of a column that holds identifiers.
  var type: String { kind == .blob ? "BLOB" : "TEXT" }

  var affinity: Affinity { kind == .blob ? .blob : .text }

  func value(_ identifier: UUID) -> DatabaseValue {
    switch kind {
    case .uppercase: identifier.uuidString.databaseValue
    case .lowercase: identifier.uuidString.lowercased().databaseValue
    case .blob: withUnsafeBytes(of: identifier.uuid) { Data($0) }.databaseValue
    }
  }
}
