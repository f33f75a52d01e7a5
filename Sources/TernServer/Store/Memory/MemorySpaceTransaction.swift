#if Server
import TernCore

/// Collects what a transaction writes, so that leaving it out is the rollback.
final class MemorySpaceTransaction: SpaceTransaction {
  let position: UInt64
  let spacesBefore: Int?

  private let name: SpaceName
  /// Dropped before the commit writes, which would copy the whole space otherwise.
  private var space: MemorySpace?
  private var operations: [NewOperation] = []
  private var heads: [ReplicaID: AuthorHead] = [:]
  private var tokens: [TokenRecord] = []

  init(_ name: SpaceName, in contents: MemorySpaceStore.Contents) {
    self.name = name
    space = contents.spaces[name]
    position = space?.position ?? 0
    spacesBefore = space == nil ? contents.spaces.count : nil
  }

  func heads(of authors: Set<ReplicaID>) -> [ReplicaID: AuthorHead] {
    guard let space else { return [:] }
    return space.heads.filter { authors.contains($0.key) }
  }

  var authorCount: Int { space?.heads.count ?? 0 }

  func digests(of keys: [OperationKey]) -> [OperationKey: OperationDigest] {
    var digests: [OperationKey: OperationDigest] = [:]
    for key in keys { digests[key] = space?.digest(of: key) }
    return digests
  }

  func append(_ operations: [NewOperation], heads: [ReplicaID: AuthorHead]) {
    precondition(self.operations.isEmpty, "append at most once in a transaction")
    self.operations = operations
    self.heads = heads
  }

  func add(_ token: TokenDigest, createdMilliseconds: Int64) {
    tokens.append(
      TokenRecord(digest: token, space: name, createdMilliseconds: createdMilliseconds))
  }

  func commit(to contents: inout MemorySpaceStore.Contents) {
    space = nil
    contents.spaces[name, default: MemorySpace()].append(operations, heads: heads)
    for token in tokens { contents.tokens[token.digest] = token }
  }
}
#endif
