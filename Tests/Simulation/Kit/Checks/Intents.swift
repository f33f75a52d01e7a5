#if Server && Rehearsal
import Tern

/// What a device's user wrote and was told is committed, kept apart from Tern: the side of the
/// model that sees a lost note.
struct Intents {
  /// The newest text written to a column, by table and key; none after a delete of the row.
  private(set) var texts: [String: [String: String]] = [:]
  /// The sum of what was added to a counter, by table and key; keys that were deleted here are left out,
  /// because a delete before the seal takes its differences along.
  private(set) var sums: [String: Int64] = [:]
  private(set) var deletedKeys: Set<String> = []

  /// The writes of a transaction that has not committed.
  struct Draft: CustomStringConvertible {
    fileprivate enum Write {
      case wrote(String, [String: String], Int64)
      case deleted(String)
      case cleared(String, String)
    }
    fileprivate var writes: [Write] = []

    mutating func wrote(_ key: String, _ texts: [String: String], adding sum: Int64 = 0) {
      writes.append(.wrote(key, texts, sum))
    }

    /// A column that a REPLACE left out stands at its default again.
    mutating func cleared(_ key: String, _ column: String) { writes.append(.cleared(key, column)) }

    mutating func append(_ more: Draft) { writes += more.writes }

    mutating func deleted(_ key: String) { writes.append(.deleted(key)) }

    var description: String {
      writes.map { write in
        switch write {
        case .wrote(let key, let texts, let sum):
          "\(key)\(texts.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()) +\(sum)"
        case .deleted(let key): "\(key) deleted"
        case .cleared(let key, let column): "\(key) \(column) cleared"
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
      case .deleted(let key):
        texts[key] = nil
        deletedKeys.insert(key)
      case .cleared(let key, let column): texts[key]?[column] = nil
      }
    }
  }
}
#endif
