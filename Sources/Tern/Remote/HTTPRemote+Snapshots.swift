import Foundation
import TernNetwork

extension HTTPRemote {
  public var keepsSnapshots: Bool { true }

  public func snapshotPart(_ index: Int, of id: String) async throws -> [UInt8] {
    try await answering {
      try await exchange(request(.get, path(index, of: id))).part()
    }
  }

  /// - Throws: ``RemoteError``, with `snapshots-unsupported` of a server that is older than
  ///   snapshots; `CancellationError`.
  public func beginSnapshot(_ offer: SnapshotOffer) async throws -> SnapshotUpload {
    try await answering {
      var request = try await request(.post, "/snapshots")
      request.headers["Content-Type"] = "application/json"
      request.body = .bytes(try Array(JSONEncoder().encode(OfferDocument(offer))))
      // Equal offers are one upload.
      request.isRepeatable = true
      do {
        let upload = try await exchange(request).json(UploadDocument.self).upload
        guard upload.missing.allSatisfy((0..<offer.parts).contains) else {
          throw RemoteError(.unexpectedAnswer, "the server misses parts that were not offered")
        }
        return upload
      } catch let error as RemoteError where error.code == .notFound {
        throw RemoteError(.snapshotsUnsupported, error.message)
      }
    }
  }

  public func putSnapshotPart(_ bytes: [UInt8], index: Int, of id: String) async throws {
    try await answering {
      var request = try await request(.put, path(index, of: id))
      request.headers["Content-Type"] = RemoteAnswer.partType
      request.body = .bytes(bytes)
      _ = try await exchange(request).json(DoneDocument.self)
    }
  }

  public func completeSnapshot(_ id: String) async throws {
    try await answering {
      var request = try await request(.post, "/snapshots/" + Self.escaped(id))
      // A snapshot that is whole already is acknowledged again.
      request.isRepeatable = true
      _ = try await exchange(request).json(DoneDocument.self)
    }
  }

  public func report(_ state: StateReport) async throws {
    try await answering {
      var request = try await request(.put, "/state")
      request.headers["Content-Type"] = "application/json"
      request.body = .bytes(try Array(JSONEncoder().encode(state)))
      _ = try await exchange(request).json(DoneDocument.self)
    }
  }

  private func path(_ index: Int, of id: String) -> String {
    "/snapshots/" + Self.escaped(id) + "/parts/\(index)"
  }
}
