import HTTPTypes
import Hummingbird
import NIOCore

extension ScanResponder {
  /// For tests of a client: `GET /control/counts`, and `POST /control/misbehave` with the text that
  /// `--misbehave` takes, which replaces what was asked for before. Only for this machine itself:
  /// the service listens nowhere else.
  func control(_ request: Request, _ name: Substring?) async throws -> Response {
    switch (request.method, name) {
    case (.get, "counts"): return Response(json: json(await board.currentCounts))
    case (.post, "misbehave"):
      let body = try await request.body.collect(upTo: 4096)
      do {
        mischief.replace(with: try Misbehaviour.list(String(buffer: body)))
      } catch {
        throw Problem(400, "UNKNOWN_MISBEHAVIOUR", error.description)
      }
      return Response(status: .noContent)
    default: throw Problem.noSuchPath
    }
  }
}
