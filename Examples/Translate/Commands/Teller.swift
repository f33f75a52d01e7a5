import ExampleService
import Foundation
import Synchronization

/// Says answers as they come, and how far the work is.
final class Teller: Sendable {
  private struct State {
    var told = 0
    var failed = 0
    var lastLine = ""
  }

  private let state = Mutex(State())
  private let count: Int
  private let json: Bool
  private let showsProgress: Bool

  init(count: Int, json: Bool, showsProgress: Bool) {
    (self.count, self.json, self.showsProgress) = (count, json, showsProgress)
  }

  var told: Int { state.withLock { $0.told } }
  var failed: Int { state.withLock { $0.failed } }

  func tell(_ entries: [Entry?], _ standing: Standing) throws {
    for entry in entries {
      try tell(entry)
      state.withLock { state in
        state.told += 1
        if entry?.translation == nil { state.failed += 1 }
      }
    }
    show(standing)
  }

  private func tell(_ entry: Entry?) throws {
    guard let entry else {
      complain(Word.gone.text)
      return json ? () : say("")
    }
    if json { return try sayJSON(entry) }
    // An empty line keeps the others in their places.
    say((entry.translation ?? "").shown(keepsLines: count == 1))
    if let problem = entry.problem {
      let why = Problem.text(problem, entry.detail)
      complain("\(entry.text.prefix(60)): \(why)".shown())
    }
    guard count == 1 else { return }
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

  /// A bar that stands in one line, or what the work waits for, each time that it is another.
  private func show(_ standing: Standing) {
    let isTerminal = isatty(2) == 1
    // That the service can't be reached ends the wait, and is said then.
    let waits =
      switch standing.cause {
      case .limited, .retry: true
      case .nothing, .unreachable: false
      }
    guard showsProgress || waits else { return }
    var line = waits ? standing.text(now: Date()) : ""
    if showsProgress {
      let full = told * 20 / max(count, 1)
      let bar = String(repeating: "█", count: full) + String(repeating: "░", count: 20 - full)
      line = "\(bar) \(told)/\(count) \(line)"
    }
    let text = line
    let isNew = state.withLock { state in
      defer { state.lastLine = text }
      return state.lastLine != text
    }
    guard isNew else { return }
    hint(isTerminal ? "\r\u{1B}[K\(text)" : text + "\n")
  }

  func endProgress() {
    let isShown = state.withLock { !$0.lastLine.isEmpty }
    if isShown && isatty(2) == 1 { hint("\n") }
  }
}
