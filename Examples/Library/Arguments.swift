import ExampleService

/// `--name value`, `--flag` and the rest, in the order in which they came.
struct Arguments: Sendable {
  private static let flags: Set = ["once", "run"]
  private static let names: Set = [
    "data", "first", "batch", "seed", "edits", "space", "token", "token-file", "limit",
    "push-bytes",
  ]
  private var options: [String: String] = [:]
  private var rest: [String] = []

  init(_ arguments: some Sequence<String>) throws {
    var iterator = arguments.makeIterator()
    while let argument = iterator.next() {
      guard argument.hasPrefix("--") else {
        rest.append(argument)
        continue
      }
      let name = String(argument.dropFirst(2))
      if Self.flags.contains(name) {
        options[name] = ""
      } else {
        guard Self.names.contains(name) else { throw Usage("there is no option \(argument)") }
        guard let value = iterator.next() else { throw Usage("\(argument) needs a value") }
        options[name] = value
      }
    }
  }

  /// The command's name, taken off the others.
  mutating func takeCommand() throws -> String {
    guard !rest.isEmpty else { throw Usage("say what to do") }
    return rest.removeFirst()
  }

  func has(_ flag: String) -> Bool { options[flag] != nil }

  func text(_ name: String) -> String? { options[name] }

  func required(_ name: String) throws -> String {
    guard let value = options[name] else { throw Usage("--\(name) is missing") }
    return value
  }

  func number(_ name: String) throws -> Int? {
    guard let text = options[name] else { return nil }
    guard let number = Int(text), number > 0 else { throw Usage("--\(name) is a number above 0") }
    return number
  }

  func argument(_ index: Int, _ what: String) throws -> String {
    guard index < rest.count else { throw Usage("the \(what) is missing") }
    return rest[index]
  }

  func optional(_ index: Int) -> String? { index < rest.count ? rest[index] : nil }
}

struct Usage: Error, CustomStringConvertible {
  let problem: String

  init(_ problem: String) {
    self.problem = problem
  }

  var description: String { "\(problem)\n\n\(Self.text)" }

  static var text: String {
    """
    library --data FILE <command>
      import CSV [--first N] [--batch N]   books, in transactions of N
      add|retitle KEY TITLE                count|rate|confidence KEY NUMBER
      shelve KEY SHELF                     thumbnail KEY PATH
      delete KEY
      edit --seed N --edits N              a mix of all these, the same for the same seed
      sync URL --space S [--token-file F] [--once | --run [--edits N --seed N]]
      sync FOLDER --space S [the same]     without a server
      list [--limit N], stats, hash
    Without a file that holds it, a server's token is in TERN_TOKEN.

    \(Ending.table)
    """
  }
}
