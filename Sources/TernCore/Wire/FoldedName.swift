extension String {
  /// How SQLite compares names: ASCII letters without case.
  package var folded: String {
    String(decoding: utf8.map { 65...90 ~= $0 ? $0 + 32 : $0 }, as: UTF8.self)
  }
}
