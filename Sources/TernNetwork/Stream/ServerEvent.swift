/// One event of an event stream.
public struct ServerEvent: Hashable, Sendable {
  /// The event's type, `message` when the stream names none.
  public var name: String
  /// The event's data lines, joined by line feeds.
  public var data: String
  /// The stream's last event id when this event was dispatched, empty for none so far. Whoever
  /// stores it together with what the event brought goes on after this event next time.
  public var id: String

  public init(name: String = "message", data: String, id: String = "") {
    self.name = name
    self.data = data
    self.id = id
  }
}
