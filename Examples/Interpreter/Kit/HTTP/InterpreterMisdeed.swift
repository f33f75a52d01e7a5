import ExampleService

/// What the interpreter does wrong on request.
public enum InterpreterMisdeed: String, MisdeedKind {
  /// Answers later, by milliseconds: 1000 unless said.
  case delay = "delay"
  /// 429 for so many seconds from the first refusal on, 1 unless said, told in `Retry-After` as
  /// seconds.
  case limitSeconds = "limit-seconds"
  /// The same, told in `Retry-After` as a date.
  case limitDate = "limit-date"
  /// The same, told in the body alone, as `RetryInfo`.
  case limitInfo = "limit-info"
  /// The same, told in both.
  case limitBoth = "limit-both"
  /// The same, not told.
  case limitBare = "limit-bare"
  /// 503.
  case overloaded = "overloaded"
  /// Closes the connection after so many events of a stream: 1 unless said.
  case cutStream = "cut-stream"
  /// The question is not answered, because of what it says.
  case blockPrompt = "block-prompt"
  /// The answer is kept back, because of what it says.
  case blockAnswer = "block-answer"
  /// The answer is kept back, because it is somebody's.
  case recite = "recite"
  /// The answer ends in its middle, at the longest length.
  case truncate = "truncate"
  /// The answer has no text.
  case empty = "empty"
  /// The answer is no JSON.
  case brokenJSON = "broken-json"

  /// The kinds that say 429, with the place in which each says for how long.
  static let limits: [(Self, Refused.Wait.Place)] = [
    (.limitSeconds, .header), (.limitDate, .date), (.limitInfo, .details), (.limitBoth, .both),
    (.limitBare, .nowhere),
  ]
}
