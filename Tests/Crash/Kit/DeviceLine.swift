/// What a device prints, a line each.
package enum DeviceLine: Hashable, Sendable {
  /// It has opened its database, which holds its writes up to a number.
  case started(done: Int)
  /// The transaction of that number has returned.
  case acknowledged(Int)
  /// The server has acknowledged what the replica wrote up to a sequence number.
  case stored(replica: String, sequence: UInt64)
  /// It writes no more, and has everything up to these sequence numbers.
  case reached(vector: String)

  package init?(_ text: String) {
    let words: [String] = text.split(separator: " ", maxSplits: 1).map { String($0) }
    guard words.count == 2 else { return nil }
    switch (words[0], Int(words[1])) {
    case ("started", let done?): self = .started(done: done)
    case ("acknowledged", let number?): self = .acknowledged(number)
    case ("reached", _): self = .reached(vector: words[1])
    case ("stored", _):
      let parts = words[1].split(separator: ":")
      guard parts.count == 2, let sequence = UInt64(parts[1]) else { return nil }
      self = .stored(replica: String(parts[0]), sequence: sequence)
    default: return nil
    }
  }

  package var text: String {
    switch self {
    case .started(let done): "started \(done)"
    case .acknowledged(let number): "acknowledged \(number)"
    case .reached(let vector): "reached \(vector)"
    case .stored(let replica, let sequence): "stored \(replica):\(sequence)"
    }
  }
}
