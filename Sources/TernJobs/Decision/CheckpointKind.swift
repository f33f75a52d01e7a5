/// What a checkpoint holds. The raw values are stored.
enum CheckpointKind: Int, Sendable, CaseIterable {
  /// A step's result, written once.
  case step = 0
  /// A value that is replaced.
  case value = 1
  /// A ``DeadlineLife``.
  case deadline = 2
  /// A ``BegunTransfer``, until its answer is a step's result or a refusal.
  case transfer = 3
  /// A ``RefusedTransfer``, until an attempt has failed of it, or the next transfer begins.
  case refusal = 4
}

/// What a handler was given of a transfer, and what goes as the attempt fails.
struct SpentTransfer: Hashable {
  /// A refusal, or a step's result that the handler could do nothing with.
  let kind: CheckpointKind
  let name: String
}
