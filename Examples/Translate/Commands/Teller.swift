import ExampleService
import Foundation
import Synchronization

/// Says answers as they come, and how far the work is. What is only for a person, on a terminal, stands
/// in one line of standard error that is written over.
final class Teller: Sendable {
  private struct State {
    var told = 0
    var failed = 0
    /// The question whose answer comes next.
    var next: String?
    var lastLine = ""
    /// Whether something stands in the line that is written over.
    var isLineUsed = false
    var hasSaidOffline = false
  }

  private let state = Mutex(State())
  private let isSingle: Bool
  private let json: Bool
  private let showsProgress: Bool
  private let isTerminal = isatty(STDERR_FILENO) == 1
  private let showsParts: Bool

  /// - Parameter isSingle: whether it is about one text, of which more is said than of a line.
  init(isSingle: Bool, json: Bool, showsProgress: Bool = false) {
    (self.isSingle, self.json, self.showsProgress) = (isSingle, json, showsProgress)
    // Who reads a pipe wants whole results.
    showsParts = !json && isTerminal && isatty(STDOUT_FILENO) == 1
  }

  var told: Int { state.withLock { $0.told } }
  var failed: Int { state.withLock { $0.failed } }
  var next: String? { state.withLock { $0.next } }

  /// - Parameters:
  ///   - entries: answered questions, in order; `nil` for one that is gone.
  ///   - next: the question after them.
  ///   - count: how many there are as yet.
  func tell(
    _ entries: [Entry?], next: String?, of count: Int, _ standing: Standing, _ service: String
  ) throws {
    try state.withLock { state in
      if !entries.isEmpty { clear(&state) }
      for entry in entries {
        try tell(entry)
        state.told += 1
        if entry?.translation == nil { state.failed += 1 }
      }
      state.next = next
      show(standing, service, count, &state)
    }
  }

  /// What there is of an answer that is still coming, if it is the next.
  func tell(part: String, of id: String) {
    guard showsParts else { return }
    state.withLock { state in
      guard state.next == id else { return }
      let line = part.split(whereSeparator: \.isNewline).last.map(String.init) ?? ""
      write(over: line.shown().tail(columns: Self.columns - 1), &state)
    }
  }

  /// That the service can't be reached, once.
  func tell(offline reason: String) {
    state.withLock { state in
      guard !state.hasSaidOffline else { return }
      state.hasSaidOffline = true
      clear(&state)
      complain(reason.shown())
    }
  }

  /// Leaves the line that is written over empty.
  func end() { state.withLock { clear(&$0) } }

  private func tell(_ entry: Entry?) throws {
    guard let entry else {
      complain(Word.gone.text)
      return json ? () : say("")
    }
    if json { return try sayJSON(entry) }
    // An empty line keeps the others in their places.
    say((entry.translation ?? "").shown(keepsLines: isSingle))
    if let problem = entry.problem {
      let why = Problem.text(problem, entry.detail)
      complain("\(entry.text.prefix(60)): \(why)".shown())
    }
    guard isSingle else { return }
    var notes: [String] = []
    if let engine = entry.engine { notes.append(Word.madeBy.text(engine)) }
    if entry.isOffline == true { notes.append(Word.offlineMark.text) }
    if let confidence = entry.confidence {
      notes.append(Word.sure.text(Int((min(max(confidence, 0), 1) * 100).rounded())))
    }
    if let others = entry.alternatives, !others.isEmpty {
      notes.append(Word.alsoSaid.text(others.joined(separator: " / ")))
    }
    if !notes.isEmpty { complain("(\(notes.joined(separator: ", ")))".shown()) }
  }

  /// A bar, or what the work waits for, each time that it is another.
  private func show(_ standing: Standing, _ service: String, _ count: Int, _ state: inout State) {
    var waits: String?
    // That the service can't be reached is said once, and ends the wait.
    switch standing[service]?.cause {
    case .limited, .retry: waits = standing.text(now: Date())
    default: break
    }
    guard showsProgress || waits != nil else { return }
    var line = waits ?? ""
    if showsProgress {
      let full = state.told * 20 / max(count, 1)
      let bar = String(repeating: "█", count: full) + String(repeating: "░", count: 20 - full)
      line = "\(bar) \(state.told)/\(count) \(line)"
    }
    // Where lines stay, one that only counts down says nothing new.
    let cause = standing[service]?.cause
    let news = isTerminal ? line : "\(state.told)/\(count) \(cause.map { "\($0)" } ?? "")"
    guard state.lastLine != news else { return }
    state.lastLine = news
    isTerminal ? write(over: line.tail(columns: Self.columns - 1), &state) : hint(line + "\n")
  }

  // MARK: - The line

  private func write(over line: String, _ state: inout State) {
    hint("\r\u{1B}[K\(line)")
    state.isLineUsed = true
  }

  private func clear(_ state: inout State) {
    guard state.isLineUsed else { return }
    hint("\r\u{1B}[K")
    (state.isLineUsed, state.lastLine) = (false, "")
  }

  /// Of the terminal.
  private static var columns: Int {
    var size = winsize()
    let isKnown = ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 1
    return isKnown ? Int(size.ws_col) : 80
  }
}
