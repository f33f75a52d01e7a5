// What merges by itself, in whatever order it arrives: a row's state and what its cells hold, under
// each rule. Texts have their own folder. How a merge reads and writes tables is `Tern/Merge`'s.

/// What is known of one row beside its values: its life, who wrote what, sums and extremes.
///
/// The normal form: among the columns that the row's own stamp covers, a last-writer column that
/// it wrote has no cell and every other one has; of those beyond, each that was ever written has
/// one; and cells are in the order of their columns. Equal content is thus an equal state, whatever
/// order it arrived in (INV-01).
package struct RowState: Hashable, Sendable {
  /// The causal length: how often the row was created and deleted. Odd is alive.
  package var life: UInt32
  /// Of the greatest insert in this life, or of the greatest delete; zero before it arrived.
  package var stamp: Stamp
  /// Columns below this id stand at ``stamp`` unless they have a cell; those from it on were added
  /// to the table later and stand at their default.
  package var covered: UInt32
  package var cells: [Cell]

  /// What differs from the row's stamp, for one column.
  package struct Cell: Hashable, Sendable {
    package var column: UInt32
    package var content: Content
  }

  package enum Content: Hashable, Sendable {
    /// Not written in this life: the column's default.
    case unset
    case stamped(Stamp)
    /// The sum, and the greatest stamp that added to it.
    case counter(CounterSum, Stamp)
    case extreme(SQLiteValue, Stamp)
    /// The elements, and the greatest stamp that changed them.
    indirect case set(ElementSet, Stamp)
    /// The text, and the greatest stamp that changed it.
    case text(TextCell, Stamp)
    /// Of the row and no column: see ``Presence``.
    indirect case presence(Presence)
  }

  package init(
    life: UInt32, stamp: Stamp = .zero, covered: UInt32 = 0, cells: [Cell] = []
  ) {
    self.life = life
    self.stamp = stamp
    self.covered = covered
    self.cells = cells
  }

  package var isAlive: Bool { life & 1 == 1 }
  /// Alive, with its insert here. An update can arrive before the insert that it follows.
  package var isComplete: Bool { isAlive && stamp != .zero }

  package func content(of column: UInt32) -> Content? {
    cells.first { $0.column == column }?.content
  }

  /// The stamp of a column's last effective write, `nil` when it was not written in this life.
  package func stamp(of column: UInt32) -> Stamp? {
    switch content(of: column) {
    case .unset, .presence: nil
    case .stamped(let stamp), .extreme(_, let stamp), .counter(_, let stamp), .set(_, let stamp),
      .text(_, let stamp):
      stamp
    case nil: column < covered && stamp != .zero ? stamp : nil
    }
  }

  /// A counter's sum.
  package func sum(of column: UInt32) -> Int128 {
    if case .counter(let sum, _) = content(of: column) { sum.total } else { 0 }
  }

  /// What the table shows of a column whose rule makes a value of several; `nil` for the others.
  package func computed(_ column: UInt32) -> SQLiteValue? {
    switch content(of: column) {
    case .counter(let sum, _): .integer(Int64(clamping: sum.total))
    case .extreme(let value, _): value
    case .set(let elements, _): elements.json
    case .text(let cell, _): .text(cell.shown)
    case .stamped, .unset, .presence, nil: nil
    }
  }

  /// The state of a set.
  package func elements(of column: UInt32) -> ElementSet {
    if case .set(let elements, _) = content(of: column) { elements } else { ElementSet() }
  }

  package mutating func set(_ content: Content?, of column: UInt32) {
    let index = cells.firstIndex { $0.column >= column } ?? cells.endIndex
    let isPresent = index < cells.endIndex && cells[index].column == column
    switch (content, isPresent) {
    case (let content?, true): cells[index].content = content
    // Inserting at the end costs several times what appending does.
    case (let content?, false) where index == cells.endIndex:
      cells.append(Cell(column: column, content: content))
    case (let content?, false): cells.insert(Cell(column: column, content: content), at: index)
    case (nil, true): cells.remove(at: index)
    case (nil, false): break
    }
  }
}
