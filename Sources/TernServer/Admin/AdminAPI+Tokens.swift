#if Server
import Foundation
import Hummingbird
import TernCore

extension AdminAPI {
  /// - Parameter id: as a list of tokens has it; of no matter to a new one.
  func answer(
    _ route: AdminRoute, on target: AdminTarget, _ body: AdminBody, ofToken id: Substring
  ) async throws -> Response {
    let (service, space) = (target.service, target.space)
    switch route.call {
    case .createToken:
      let content = try body.decode(TokenContent.self, isOptional: true)
      let member = try content.member.map { try MemberName($0) }
      let label = try content.label.map { try TokenLabel($0) }
      let expires = try end(content.expires, service)
      return Response(
        json: try await queue.write(to: space) {
          // An injected default: nobody may guess a token, nor repeat a simulation's.
          var generator = SystemRandomNumberGenerator()
          let token = try service.createToken(
            for: space, of: member, label: label, expires: expires, using: &generator)
          return try document(of: token, service)
        })
    case .rotateToken:
      let content = try body.decode(RotationContent.self, isOptional: true)
      let expires = try end(content.expires, service)
      let seconds = content.graceSeconds.map { Int64($0) }
      guard (0...Self.mostGraceSeconds).contains(seconds ?? 0) else {
        throw RemoteError(
          .malformed, "graceSeconds is a number from 0 to \(Self.mostGraceSeconds)")
      }
      return Response(
        json: try await queue.write(to: space) {
          // An injected default: the same.
          var generator = SystemRandomNumberGenerator()
          let old = try service.asOperator.token(named: id, of: space)
          let token = try service.asOperator.rotateToken(
            old.digest, grace: seconds.map { .seconds($0) } ?? SpaceOperator.grace,
            expires: expires, using: &generator)
          return try document(of: token, service)
        })
    default:
      try body.checkIsEmpty()
      return Response(
        json: try await queue.write(to: space) {
          try target.ensureIsThere()
          let token = try service.asOperator.token(named: id, of: space)
          return target.done(try service.asOperator.revoke(token.digest))
        })
    }
  }

  /// A year.
  private static let mostGraceSeconds: Int64 = 366 * 86_400

  /// - Parameter milliseconds: since 1970.
  private func end(_ milliseconds: Int64?, _ service: SpaceService) throws -> Date? {
    guard let milliseconds else { return nil }
    guard (0...HybridTime.maximumMilliseconds).contains(milliseconds),
      case let date = Date(milliseconds: milliseconds), !service.clock.hasPassed(date)
    else {
      throw RemoteError(
        .malformed, "expires is a time that is to come, in milliseconds since 1970")
    }
    return date
  }

  private func document(of token: String, _ service: SpaceService) throws -> NewTokenDocument {
    guard let record = try service.store.token(TokenDigest(token: token)) else {
      throw RemoteError(.notFound, "the token is gone already: its space was removed")
    }
    return NewTokenDocument(token: token, record: TokenDocument(record))
  }
}
#endif
