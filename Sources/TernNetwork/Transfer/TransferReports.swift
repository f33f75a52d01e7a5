/// What a system has told of uploads, until it is stored elsewhere, and who waits for that.
///
/// It tells that it has told all before or after somebody asks for it: an app may be launched, and
/// its session be told everything, before its delegate is called.
struct TransferReports<Completion> {
  /// In the order in which they came.
  private(set) var answers: [(id: String, answer: TransferAnswer)] = []
  /// The system's numbers for uploads that were cancelled because nobody wants them: what they come
  /// to is no answer, and nobody would see to it.
  private var unwanted: Set<Int> = []
  /// The system has told all that it has, and nobody has been told so.
  private var isToldAll = false
  private var completions: [Completion] = []

  /// - Returns: whether anybody is to be told of it.
  mutating func add(_ id: String, _ answer: TransferAnswer, of task: Int) -> Bool {
    if unwanted.remove(task) != nil { return false }
    answers.append((id, answer))
    return true
  }

  /// - Parameter tasks: the system's numbers for what goes on by that id, and is to be cancelled
  ///   after this call.
  /// - Returns: what is to be called now, as of the calls below.
  mutating func forget(_ id: String, cancelling tasks: [Int] = []) -> [Completion] {
    answers.removeAll { $0.id == id }
    unwanted.formUnion(tasks)
    return takeCompletions()
  }

  /// - Parameter completion: is due when the system has told all, and nothing is left to store.
  mutating func finish(_ completion: Completion) -> [Completion] {
    completions.append(completion)
    return takeCompletions()
  }

  mutating func noteAllTold() -> [Completion] {
    isToldAll = true
    return takeCompletions()
  }

  private mutating func takeCompletions() -> [Completion] {
    guard isToldAll, answers.isEmpty, !completions.isEmpty else { return [] }
    defer { (completions, isToldAll) = ([], false) }
    return completions
  }
}
