import Foundation
import TernNetwork

/// Connects when the first position is asked for, then gives one for every event.
actor PositionReader {
  private let remote: HTTPRemote
  private var chunks: HTTPBody.Iterator?
  private var parser = EventStreamParser()
  /// Positions of a chunk that held several, newest last.
  private var waiting: [UInt64] = []

  init(_ remote: HTTPRemote) {
    self.remote = remote
  }

  /// - Throws: ``RemoteError``, `CancellationError`.
  func next() async throws -> UInt64? {
    while waiting.isEmpty {
      guard let chunk = try await nextChunk() else { return nil }
      waiting = try positions(in: chunk)
    }
    return waiting.removeFirst()
  }

  private func nextChunk() async throws -> [UInt8]? {
    do {
      var chunks = try await connected()
      return try await chunks.next()
    } catch let error as HTTPError {
      throw RemoteError(error)
    }
  }

  private func connected() async throws -> HTTPBody.Iterator {
    if let chunks { return chunks }
    var request = try await remote.request(.get, "/events")
    request.headers["Accept"] = "text/event-stream"
    request.deadline = nil
    request.idleTimeout = HTTPRemote.Limit.silence
    let answer = try await remote.exchange(request)
    let chunks = try answer.events().makeAsyncIterator()
    self.chunks = chunks
    return chunks
  }

  private func positions(in chunk: [UInt8]) throws -> [UInt64] {
    let items: [EventStreamParser.Item]
    do {
      items = try parser.consume(chunk)
    } catch {
      throw RemoteError(.unexpectedAnswer, "\(error)")
    }
    return try items.compactMap { item in
      // Events of other names are a newer server's.
      guard case .event(let event) = item, event.name == "position" else { return nil }
      let data = Data(event.data.utf8)
      guard let document = try? JSONDecoder().decode(PositionDocument.self, from: data) else {
        throw RemoteError(.unexpectedAnswer, "a position event holds no position")
      }
      return document.position
    }
  }
}
