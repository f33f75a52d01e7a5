#if Server
import TernCore

/// Everything that a server limits. At a limit new work is refused, by the limit's name, and what
/// is stored stays.
public struct ServerLimits: Hashable, Sendable {
  /// The longest body of a push, as it travels.
  public var bodyBytes = Batch.Limit.bytes + 64
  /// All bodies that are being received at one moment.
  public var bodyBytesInFlight = 256 << 20
  /// The most operations in one push.
  public var batchOperations = Batch.Limit.operations
  /// The content of one page of a pull; a longer operation comes alone.
  public var pageBytes = 1 << 20
  /// The most operations in one page of a pull.
  public var pageOperations = Batch.Limit.operations
  /// The event streams that are open on one space.
  public var streamsPerSpace = 1_000
  /// The longest name of a space, in bytes.
  public var spaceNameBytes = 64
  /// The spaces in one store.
  public var spaces = 100_000
  /// The replicas that have ever written into one space. A greeting names them all, and an operation
  /// has room for as many that its author had seen.
  public var replicasPerSpace = Operation.Limit.seen
  /// The connections of one server process.
  public var connections = 10_000

  public init() {}
}

extension RemoteError.Code {
  /// The store has as many spaces as it may: use one that is there, or another server.
  public static let tooManySpaces = Self(rawValue: "too-many-spaces")
  /// As many replicas have written into the space as may: new ones need another.
  public static let tooManyReplicas = Self(rawValue: "too-many-replicas")
}
#endif
