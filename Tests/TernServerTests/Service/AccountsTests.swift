#if Server
import Foundation
import TernCore
import TernServer
import Testing

@Suite("Service: the accounts of an app's backend")
struct AccountsTests {
  @Test("a token opens its account's space alone, until it is revoked or the account deleted")
  func accounts() throws {
    let folder = try TemporaryFolder()
    let accounts = try Accounts(path: folder.path("server.tern"))
    let (ada, bob) = (UUID(), UUID())
    let space = try SpaceName(ada.uuidString)
    let tokens = try (0..<2).map { _ in try accounts.token(for: ada) }
    let other = try accounts.token(for: bob)
    func answer(_ token: String) -> RemoteError.Code? {
      refusal { try accounts.service.authorize(token, for: space) }?.code
    }
    #expect(tokens.map(answer) == [nil, nil])
    #expect(answer(other) == .forbidden)
    try accounts.revoke(tokens[0])
    #expect(tokens.map(answer) == [.unauthorized, nil])
    try accounts.delete(ada)
    #expect(tokens.map(answer) == [.unauthorized, .unauthorized])
    #expect(try accounts.service.store.tokens().count == 1)
  }
}
#endif
