extension String {
  /// As much of its end as there is room for in a line of a terminal, where signs of East Asia and
  /// emoji take two columns.
  func tail(columns: Int) -> String {
    func width(_ character: Character) -> Int {
      character.unicodeScalars.contains { $0.value >= 0x1100 } ? 2 : 1
    }
    var (room, rest) = (columns, self[...])
    while let last = rest.last, width(last) <= room {
      room -= width(last)
      rest.removeLast()
    }
    return String(self[rest.endIndex...])
  }
}
