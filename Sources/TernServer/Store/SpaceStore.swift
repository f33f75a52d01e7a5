#if Server
import TernCore

/// Where a server keeps its spaces, their operations and their tokens.
///
/// Synchronous, so that a simulation can drive it. A store holds rows and knows no rules: those are
/// in ``SpaceService``. Every call is one transaction: on return what it wrote is durable, on a
/// throw nothing of it is stored. Errors other than the body's own are the store's.
public protocol SpaceStore: Sendable {
  /// Drawn when the store was made, never changed: 32 hexadecimal digits.
  var epoch: String { get }

  /// The newest position of a space and of its authors; zero for a space that doesn't exist.
  func summary(of space: SpaceName) throws -> SpaceSummary

  /// Operations that follow `position` and are not by `excluded`, seen at one moment.
  ///
  /// - Parameters:
  ///   - contentBytes: where the page ends; it has at least one operation if there is one.
  ///   - operations: how many positions the page spans at most, those left out included.
  func page(
    of space: SpaceName, after position: UInt64, excluding excluded: ReplicaID?,
    contentBytes: Int, operations: Int
  ) throws -> StoredPage

  /// Runs `body` with the space's head locked: no other call, of any process, changes the space
  /// until this one has committed. A space that doesn't exist is made.
  func update<Value: Sendable>(
    _ space: SpaceName, _ body: (any SpaceTransaction) throws -> Value
  ) throws -> Value

  /// The token with a digest, or `nil`.
  func token(_ digest: TokenDigest) throws -> TokenRecord?

  /// All tokens, the oldest first.
  func tokens() throws -> [TokenRecord]

  /// Returns whether there was one.
  func removeToken(_ digest: TokenDigest) throws -> Bool
}

/// A space whose head is locked.
public protocol SpaceTransaction: AnyObject {
  /// The newest position when the transaction began.
  var position: UInt64 { get }

  /// How many spaces there were before, when this transaction makes one more; otherwise `nil`.
  var spacesBefore: Int? { get throws }

  /// The heads of those authors that have one.
  func heads(of authors: Set<ReplicaID>) throws -> [ReplicaID: AuthorHead]

  /// How many authors have a head.
  var authorCount: Int { get throws }

  /// The digests of those operations that the space has.
  func digests(of keys: [OperationKey]) throws -> [OperationKey: OperationDigest]

  /// Gives the next positions to `operations`, in their order, and sets their authors' heads.
  ///
  /// At most once in a transaction.
  func append(_ operations: [NewOperation], heads: [ReplicaID: AuthorHead]) throws

  /// Adds a token for this space.
  func add(_ token: TokenDigest, createdMilliseconds: Int64) throws
}
#endif
