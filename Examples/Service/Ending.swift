/// How the examples' programs end: one table for all of them, which their `--help` shows.
package enum Ending: Int32, CaseIterable, Sendable {
  case done = 0
  case failed = 1
  case usage = 64
  case badFile = 66
  case disk = 74
  case later = 75
  case stopped = 130

  private var meaning: String {
    switch self {
    case .done: "all is done; or what goes on until it is stopped was stopped"
    case .failed: "something came to nothing, and says why"
    case .usage: "what was asked can't be done as it stands"
    case .badFile: "the database can't be opened, or the file is none"
    case .disk: "the disk is full or fails, or the output can't be written"
    case .later: "what is left is saved, and waits"
    case .stopped: "stopped by Ctrl-C before it was done; what was saved stays"
    }
  }

  /// For `--help`.
  package static var table: String {
    "EXIT STATUS:\n"
      + allCases.map { ending in
        let number = "\(ending.rawValue)"
        let space = String(repeating: " ", count: 6 - number.count)
        return "  \(number)\(space)\(ending.meaning)"
      }.joined(separator: "\n")
  }
}
