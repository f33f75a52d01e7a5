extension String {
  /// At most so many Unicode scalars of it. Its characters bound nothing: one can have a
  /// mebibyte of marks.
  ///
  /// - Parameter mark: stands at the end of what was cut, and counts.
  package func cut(to count: Int, mark: String = "") -> String {
    if unicodeScalars.dropFirst(count).isEmpty { return self }
    return String(unicodeScalars.prefix(max(count - mark.unicodeScalars.count, 0))) + mark
  }
}
