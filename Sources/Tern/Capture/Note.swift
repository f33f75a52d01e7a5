import TernCore
import TernDatabase

/// What a note says of its row. Its masks hold that.
enum Note: Equatable {
  /// The row was inserted: the first mask is −1, or its mark says that its key was changed.
  case inserted(ColumnMask)
  /// Columns were written: the masks are bits, none where an update changed nothing.
  case written(ColumnMask)
  /// The row went, or a REPLACE may have removed it: NULL.
  case gone
  /// A REPLACE may have removed the row, of a table that keeps what deleted rows held.
  case maybeGone
  /// The row stood when another one was to be inserted under its key. What becomes of it is not
  /// known yet; of a row that the state has it says nothing.
  case standing

  /// Reads the masks of a scan's row, `count` columns from `index` on.
  ///
  /// - Throws: ``ReplicaError`` with `.damaged` for what no trigger writes.
  init(_ scan: FastStatement, _ index: Int32, count: Int) throws {
    let first = scan.value(index)
    switch first.tag {
    case .null: self = .gone
    case .text:
      switch NoteSQL.Mark(rawValue: String(decoding: first.content, as: UTF8.self)) {
      case .maybe: self = .maybeGone
      case .standing: self = .standing
      case .moved:
        self = .inserted(
          ColumnMask(first: -1, rest: Array(repeating: -1, count: count - 1)))
      case nil: throw Self.damaged
      }
    default:
      let more = index + 1..<index + Int32(count)
      let columns = ColumnMask(
        first: try Self.word(first),
        rest: try more.isEmpty ? [] : more.map { try Self.word(scan.value($0)) })
      self = columns.first == -1 ? .inserted(columns) : .written(columns)
    }
  }

  private static func word(_ value: WireValue) throws -> Int64 {
    let word = Int64(bitPattern: value.bits)
    guard value.isWhole, word == -1 || word >> TableShape.maskBits == 0 else { throw damaged }
    return word
  }

  private static let damaged = ReplicaError(
    .damaged, "a table of notes holds a mask that no trigger writes")

  var columns: ColumnMask {
    switch self {
    case .inserted(let columns), .written(let columns): columns
    case .gone, .maybeGone, .standing: ColumnMask()
    }
  }
}
