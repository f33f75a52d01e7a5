/// One event of an event stream.
public struct ServerEvent: Hashable, Sendable {
  /// The event's type, `message` when the stream names none.
  public var name: String
  /// The event's data lines, joined by line feeds.
  public var data: String
  /// The stream's last event id when this event was dispatched, empty for none so far.
  public var id: String

  public init(name: String = "message", data: String, id: String = "") {
    self.name = name
    self.data = data
    self.id = id
  }
}

/// Why an event stream could not be read on.
public struct EventStreamError: Error, Hashable, Sendable {
  public struct Code: Hashable, Sendable {
    package enum Reason: String, Sendable {
      case lineTooLong, eventTooLarge
    }
    package let reason: Reason

    /// A line is over ``EventStreamParser/Limit/lineBytes``.
    public static let lineTooLong = Code(reason: .lineTooLong)
    /// An event's data is over ``EventStreamParser/Limit/eventBytes``.
    public static let eventTooLarge = Code(reason: .eventTooLarge)
  }

  public let code: Code
  public let limitBytes: Int
}

extension EventStreamError: CustomStringConvertible {
  public var description: String {
    let subject = code == .lineTooLong ? "a line" : "an event"
    return "\(subject) of the event stream is over its limit of \(limitBytes) bytes"
  }
}
