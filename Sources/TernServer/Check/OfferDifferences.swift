#if Server
import TernCore

/// What an offered snapshot and the space don't have in common.
struct OfferDifferences {
  struct Writes {
    private(set) var count = 0
    private(set) var example: (write: RowState.Write, table: TracedTable)?

    mutating func note(_ write: RowState.Write, _ table: TracedTable) {
      count += 1
      if example == nil { example = (write, table) }
    }

    /// One of them, by names alone.
    func place(_ authors: Authors) -> String {
      guard let (write, table) = example else { return "" }
      let column = write.column.map { "column \(table.names[Int($0)])" } ?? "a row"
      let author =
        write.stamp == .zero ? "nobody" : "replica \(authors.ids[Int(write.stamp.author)])"
      return "; for example \(column) of table \(table.name), by \(author)"
    }
  }

  var lacking = Writes()
  var invented = Writes()
  var changed = Writes()

  var areMany: Bool { lacking.count + invented.count + changed.count > 1_000 }

  func refusal(_ authors: Authors) -> String? {
    let atLeast = areMany ? "at least " : ""
    if lacking.count > 0 {
      return "writes that it lacks: \(atLeast)\(lacking.count)" + lacking.place(authors)
    }
    if invented.count > 0 {
      return "writes that nobody pushed: \(atLeast)\(invented.count)" + invented.place(authors)
    }
    if changed.count > 0 {
      return "values other than were written: \(atLeast)\(changed.count)" + changed.place(authors)
    }
    return nil
  }
}
#endif
