import Foundation
import TernNetwork

/// Connects when the first position is asked for, then gives one for every event. Ends where one
/// can't follow the one before: the space lost something, and whoever listens anew greets first.
actor PositionReader {
  private let remote: HTTPRemote
  private let cursor: RemoteCursor?
  private var events: EventStream?
  private var last: PositionDocument?

  init(_ remote: HTTPRemote, after cursor: RemoteCursor?) {
    (self.remote, self.cursor) = (remote, cursor)
  }

  /// - Throws: ``RemoteError``, with the time after which to connect again where the server has
  ///   said one; `CancellationError`.
  func next() async throws -> UInt64? {
    do {
      let events = try await connected()
      while let event = try await events.next() {
        // Events of other names are a newer server's.
        guard event.name == "position" else { continue }
        let next = try document(in: event)
        if let last, !next.canFollow(last) { return nil }
        last = next
        return next.position
      }
      guard let time = await events.reconnectionTime else { return nil }
      throw RemoteError(.unreachable, "the server ended the event stream", retryAfter: time)
    } catch let error as HTTPError {
      var error = RemoteError(error)
      error.retryAfter = await events?.reconnectionTime
      throw error
    } catch let error as EventStreamError {
      throw RemoteError(.unexpectedAnswer, "\(error)")
    }
  }

  private func connected() async throws -> EventStream {
    if let events { return events }
    let query = cursor.map { "?after=" + HTTPRemote.escaped($0.rawValue) } ?? ""
    var request = try await remote.request(.get, "/events" + query)
    EventStream.setFields(of: &request)
    request.timeout = nil
    request.idleTimeout = HTTPRemote.Limit.silence
    let events = try await remote.exchange(request).events()
    self.events = events
    return events
  }

  private func document(in event: ServerEvent) throws -> PositionDocument {
    let data = Data(event.data.utf8)
    guard let document = try? JSONDecoder().decode(PositionDocument.self, from: data) else {
      throw RemoteError(.unexpectedAnswer, "a position event holds no position")
    }
    return document
  }
}
