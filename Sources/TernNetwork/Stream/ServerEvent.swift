import Foundation

/// One event of an event stream.
public struct ServerEvent: Hashable, Sendable {
  /// The event's type, `message` when the stream names none.
  public var name: String
  /// The event's data lines, joined by line feeds.
  public var data: String
  private var heldID: EventID

  public init(name: String = "message", data: String, id: String = "") {
    self.init(name: name, data: data, id: EventID(id))
  }

  init(name: String, data: String, id: EventID) {
    self.name = name
    self.data = data
    heldID = id
  }

  /// The stream's last event id when this event was dispatched, empty for none so far. Whoever
  /// stores it together with what the event brought goes on after this event next time.
  public var id: String {
    get { heldID.text }
    set { heldID = EventID(newValue) }
  }

  /// The data as a value; `nil` where they are no JSON of that form, which for an event is often no
  /// failure: the caller knows whether anything depends on it.
  ///
  /// - Parameter decoder: where the service's dates or names need another than the plain one.
  public func json<Value: Decodable>(
    _ type: Value.Type = Value.self, decoder: JSONDecoder = JSONDecoder()
  ) -> Value? {
    // To try is the only way to ask.
    try? decoder.decode(type, from: Data(data.utf8))
  }
}
