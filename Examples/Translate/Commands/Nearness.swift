extension String {
  /// Whether one slip of the fingers makes the one of the other: a letter too many, too few or another
  /// one, or two that changed places.
  func isNearly(_ other: String) -> Bool {
    let start = zip(self, other).prefix { $0 == $1 }.count
    let (own, others) = (Array(dropFirst(start)), Array(other.dropFirst(start)))
    guard own != others else { return false }
    if own.dropFirst() == others.dropFirst() || own[...] == others.dropFirst()
      || own.dropFirst() == others[...]
    {
      return true
    }
    return own.count > 1 && others.count > 1 && own[0] == others[1] && own[1] == others[0]
      && own.dropFirst(2) == others.dropFirst(2)
  }
}
