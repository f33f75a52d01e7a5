#if Server && Rehearsal
import Tern

/// What a device's user wrote and was told is committed, kept apart from Tern: the side of the
/// model that sees a lost note.
struct Intents {
  /// The newest text written to a column, by table and key; none after a delete of the row.
  private(set) var texts: [String: [String: String]] = [:]
  /// The same of numbers.
  private(set) var numbers: [String: [String: SQLiteValue]] = [:]
  /// The sum of what was added to a counter, by table and key; keys that were deleted here are left out,
  /// because a delete before the seal takes its differences along.
  private(set) var sums: [String: Int64] = [:]
  private(set) var deletedKeys: Set<String> = []
  /// What was added to the texts and sets of a row, and neither taken out nor deleted with it later.
  private(set) var added: [String: Set<Piece>] = [:]
  /// What was taken out of them.
  private(set) var removed: [String: Set<Piece>] = [:]
  /// Rows that were deleted last, and the text by which what was deleted is known.
  private(set) var ends: [String: String] = [:]

  /// Something that one write alone adds, to a text or a set, so that whoever has it has it from there.
  enum Piece: Hashable {
    case letter(Unicode.Scalar)
    case element(Int64)

    /// A letter that no two writes insert.
    static func letter(_ device: Int, _ token: Int) -> Unicode.Scalar {
      Unicode.Scalar(UInt32(0x2_0000 + device * 2048 + token % 2048))!
    }

    /// An element that no two writes add.
    static func element(_ device: Int, _ token: Int) -> Int64 {
      Int64((device + 1) * 10_000 + token)
    }

    /// `nil` of those that many add.
    init?(element number: Int64) {
      guard number >= 10_000 else { return nil }
      self = .element(number)
    }

    /// - Parameter json: an array.
    static func elements(of json: String) -> Set<Piece> {
      Set(json.split { !$0.isNumber }.compactMap { Int64($0).flatMap(Piece.init(element:)) })
    }

    static func letters(of text: String) -> Set<Piece> {
      Set(text.unicodeScalars.filter { $0.value >= 0x2_0000 }.map(Piece.letter))
    }
  }

  /// What a user sees of a row of `item`.
  struct Shown {
    var name: String?
    var numbers: [String: SQLiteValue]
    var pieces: Set<Piece>
  }

  /// The writes of a transaction that has not committed.
  struct Draft: CustomStringConvertible {
    fileprivate enum Write {
      case wrote(String, [String: String], Int64)
      case deleted(String, String?)
      case cleared(String, String)
      case changed(String, [String: SQLiteValue?], added: Set<Piece>, removed: Set<Piece>)
    }
    fileprivate var writes: [Write] = []

    mutating func wrote(_ key: String, _ texts: [String: String], adding sum: Int64 = 0) {
      writes.append(.wrote(key, texts, sum))
    }

    /// A column that a REPLACE left out stands at its default again.
    mutating func cleared(_ key: String, _ column: String) { writes.append(.cleared(key, column)) }

    mutating func append(_ more: Draft) { writes += more.writes }

    /// - Parameter name: a text that was written once, in what was deleted.
    mutating func deleted(_ key: String, _ name: String?) { writes.append(.deleted(key, name)) }

    /// Compares a row with itself before a write; what became of a deleted one is for ``deleted(_:_:)`` to say.
    mutating func changed(
      _ key: String, from old: Shown?, to new: Shown?, setting columns: Set<String>
    ) {
      guard let new else { return }
      var numbers: [String: SQLiteValue?] = [:]
      for (column, value) in new.numbers where columns.contains(column) {
        // Writing what was there already may be a write and may be none. A plain `nil` is a value here.
        let written = old?.numbers[column] == value ? SQLiteValue?.none : value
        numbers.updateValue(written, forKey: column)
      }
      let before = old?.pieces ?? []
      writes.append(
        .changed(
          key, numbers, added: new.pieces.subtracting(before),
          removed: before.subtracting(new.pieces)))
    }

    var description: String {
      writes.compactMap { write in
        switch write {
        case .wrote(let key, let texts, let sum):
          "\(key)\(texts.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()) +\(sum)"
        case .deleted(let key, _): "\(key) deleted"
        case .cleared(let key, let column): "\(key) \(column) cleared"
        case .changed: nil
        }
      }.joined(separator: ", ")
    }
  }

  mutating func commit(_ draft: Draft) {
    for write in draft.writes {
      switch write {
      case .wrote(let key, let written, let sum):
        texts[key, default: [:]].merge(written) { $1 }
        sums[key, default: 0] += sum
        ends[key] = nil
      case .deleted(let key, let name):
        (texts[key], numbers[key], added[key]) = (nil, nil, nil)
        deletedKeys.insert(key)
        ends[key] = name
      case .cleared(let key, let column): texts[key]?[column] = nil
      case .changed(let key, let written, let more, let less):
        for (column, value) in written { numbers[key, default: [:]][column] = value }
        added[key] = (added[key] ?? []).union(more).subtracting(less)
        removed[key, default: []].formUnion(less)
        ends[key] = nil
      }
    }
  }
}
#endif
