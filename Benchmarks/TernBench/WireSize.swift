import Foundation
import Tern

/// Bytes of a change of one column, as a batch takes them to a remote.
struct WireSize {
  let rows: Int

  func run() throws {
    // All changes of a transaction are one operation; one a row is what single edits make.
    for isOneByOne in [false, true] {
      let subject = try Subject(isSynced: true, path: nil, rows: BenchRow.make(rows))
      try subject.insert(sealing: true)
      let inserts = try subject.batch().encoded().count
      try subject.acknowledge()
      if isOneByOne {
        try subject.updateOneByOne()
      } else {
        try subject.update(sealing: true)
      }
      // The newest of what was acknowledged stays in the log.
      let changes = try subject.batch().operations.filter { $0.envelope.sequence > 1 }
      let bytes = OperationBatch(changes).encoded().count
      print(
        isOneByOne ? "each" : "together", changes.count, format(inserts), format(bytes),
        separator: "\t")
    }
  }

  private func format(_ bytes: Int) -> String {
    String(format: "%.1f", Double(bytes) / Double(rows))
  }
}
