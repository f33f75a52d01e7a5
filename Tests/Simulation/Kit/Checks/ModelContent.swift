#if Server && Rehearsal
import Tern

/// What an operation carries of one column.
enum ModelContent {
  case plain(SQLiteValue)
  case set(SetChange)
  case text(TextChange)

  init(_ value: SQLiteValue, rule: UInt8) {
    guard rule == 4 || rule == 5 else {
      self = .plain(value)
      return
    }
    guard case .blob(let bytes) = value else {
      preconditionFailure("an operation carries a change that is none")
    }
    do {
      self =
        try rule == 4
        ? .set(bytes.withUnsafeBytes { try SetChange($0) })
        : .text(bytes.withUnsafeBytes { try TextChange($0) })
    } catch {
      preconditionFailure("an operation carries a change that can't be read: \(error)")
    }
  }

  var value: SQLiteValue { if case .plain(let value) = self { value } else { .null } }

  /// The operations of others that it names: what it takes out, and what it stands beside.
  var named: [VersionVector] {
    switch self {
    case .plain: []
    case .set(let change): change.removed.map(\.additions)
    // Nobody wrote what a text begins with, number 0.
    case .text(.initial): []
    case .text(.edit(let edit)):
      (edit.inserted.compactMap(\.parent) + edit.removed.map(\.first)).map {
        VersionVector([$0.author: $0.sequence])
      }
    }
  }

  /// What it adds of what is written once.
  var pieces: Set<Intents.Piece> {
    switch self {
    case .plain: []
    case .set(let change):
      Set(
        change.added.compactMap {
          if case .integer(let number) = $0 { Intents.Piece(element: number) } else { nil }
        })
    case .text(.initial(let text)): Intents.Piece.letters(of: String(decoding: text, as: UTF8.self))
    case .text(.edit(let edit)):
      Intents.Piece.letters(of: String(decoding: edit.text, as: UTF8.self))
    }
  }
}
#endif
