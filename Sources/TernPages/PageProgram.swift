#if Server
/// What stands behind a page.
package protocol PageProgram: Sendable {
  /// Never throws: what goes wrong is told to the page.
  func answer(_ request: PageRequest) async -> PageAnswer

  /// Tells of changes until its task is cancelled, the first time at once.
  func watch(_ tell: @escaping @Sendable (PageNews) -> Void) async

  /// How many bytes a file may have that the page sends to a path; by default it sends none.
  func uploadBytes(_ path: String) -> Int?
}

extension PageProgram {
  package func uploadBytes(_ path: String) -> Int? { nil }
}

/// An element of a page's stream.
package enum PageNews: Hashable, Sendable {
  /// There may be something new to ask for.
  case changed
  /// Nothing new. It keeps the connection open.
  case silence

  var text: String {
    switch self {
    case .changed: "data: changed\n\n"
    case .silence: ":\n\n"
    }
  }
}
#endif
