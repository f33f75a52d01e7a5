#if Server
import TernCore

/// Everything that a server limits. At a limit new work is refused, by the limit's name, and what
/// is stored stays.
public struct ServerLimits: Hashable, Sendable {
  /// The longest body of a push, as it travels.
  public var bodyBytes = OperationBatch.Limit.bytes + 64
  /// All bodies that are being received at one moment, as far as they have arrived; of one space a
  /// quarter, but no less than one body.
  public var bodyBytesInFlight = 256 << 20
  /// How long a body may take to arrive.
  public var bodyTime = Duration.seconds(600)
  /// All answers of more than 64 KiB that are being sent at one moment. No less than one part of a
  /// snapshot, or nobody is given it. Of one space a quarter, but no less than one answer.
  public var answerBytesInFlight = 256 << 20
  /// How long an answer of more than 64 KiB may take to leave. Devices give an exchange as long.
  public var answerTime = Duration.seconds(600)
  /// The most operations in one push.
  public var batchOperations = OperationBatch.Limit.operations
  /// The content of one page of a pull; a longer operation comes alone.
  public var pageBytes = 1 << 20
  /// The most operations in one page of a pull.
  public var pageOperations = OperationBatch.Limit.operations
  /// The event streams that are open on one space.
  public var streamsPerSpace = 1_000
  /// The event streams of one server process: three quarters of ``connections``, as each holds one.
  public var streams = 7_500
  /// The spaces of which one event stream tells that carries several.
  public var spacesPerStream = 256
  /// The longest name of a space, in bytes.
  public var spaceNameBytes = 64
  /// The spaces in one store.
  public var spaces = 100_000
  /// The replicas that have ever written into one space. A greeting names them all, and an
  /// operation has room for as many that its author had seen.
  public var replicasPerSpace = SyncOperation.Limit.seen
  /// The replicas that have written into one space, banned ones too: a snapshot names no more.
  var headsPerSpace = SnapshotPart.Limit.authors
  /// The replica ids that one member may bring into a space, where its quota says nothing else, and
  /// those who are named by no token together. At most half of what is left is one member's.
  public var authorsPerMember = 256
  /// The requests of one space that wait for their turn to write, to be unpacked or to be read.
  public var waitingPerSpace = 64
  /// The requests with one token that are being answered; open event streams don't count.
  public var requestsPerToken = 64
  /// The processor time that the requests with one token may take in a minute: unpacking, checking,
  /// reading and writing. A token that has taken none for a minute may take all of it at once.
  public var processorPerToken = Duration.seconds(30)

  // MARK: - Connections

  /// The connections of one server process. At the limit the one goes that has not been authorized
  /// for longest, unless it has an authorized request or event stream under way.
  public var connections = 10_000
  /// The connections of one address, where an IPv6 network of 64 bits counts as one. At the limit
  /// one of its own goes in the same way. Behind a proxy all have the proxy's address.
  public var connectionsPerAddress = 5_000
  /// How long a connection has for its first request's head, and for a later one from its first
  /// byte.
  public var headTime = Duration.seconds(10)

  // MARK: - Snapshots

  /// The longest part of a snapshot, in bytes.
  public var snapshotPartBytes = SnapshotPart.Limit.bytes
  /// All parts of a snapshot.
  public var snapshotBytes = 4 << 30
  /// The parts of a snapshot.
  public var snapshotParts = 16_384
  /// The uploads that a space waits for at once; one more takes the place of the one that was left
  /// alone the longest.
  public var uploadsPerSpace = 2
  /// How long an upload is waited for after it was last added to.
  public var uploadAge = Duration.seconds(24 * 3600)
  /// How long no snapshot is asked for after one was refused, because devices that offer it again
  /// would upload all of it each time.
  public var refusalPause = Duration.seconds(600)
  /// After so many operations since the newest snapshot another one is asked for.
  public var operationsPerSnapshot: UInt64 = 10_000

  /// How long a space takes bases after an operator opened it with
  /// ``SpaceService/refill(_:isOpen:)``.
  public var refillTime = Duration.seconds(24 * 3600)

  // MARK: - Shares

  /// What one space stores, unpacked: its operations and its snapshots. An operator gives a space
  /// another limit with ``SpaceService/setQuota(_:of:)``.
  public var bytesPerSpace = 4 << 30
  /// The operations of one space that are not trimmed.
  public var operationsPerSpace = 10_000_000
  /// What is kept free of the disk: where less is, nothing new is stored.
  public var diskReserveBytes = 256 << 20

  // MARK: - State reports

  /// The tables in a replica's report of its state.
  public var reportedTables = 2_000
  /// How often a space that changes asks for one.
  public var stateInterval = Duration.seconds(24 * 3600)

  // MARK: - The audit log

  /// What a store keeps of what operators changed, in all spaces together. The oldest go.
  public var auditRecords = 100_000

  // MARK: - The horizon

  /// How long a replica holds the horizon back after it last pulled.
  public var lease = Duration.seconds(90 * 24 * 3600)
  /// The replicas in a space that hold it back; a new one more is refused.
  public var leasesPerSpace = SyncOperation.Limit.seen
  /// How long operations are served at least, whoever has them.
  public var retention = Duration.seconds(30 * 24 * 3600)
  /// The most operations that lose their bytes in one transaction.
  public var trimmedOperations = 1_000
  /// How long the bytes of trimmed operations, and of snapshots that gave way, can be brought back
  /// with ``SpaceService/restore(_:overQuota:)``.
  public var trimmedAge = Duration.seconds(7 * 24 * 3600)
  /// The snapshots of a space that gave way and can be brought back, as long as they are no more
  /// than its quota of bytes together.
  public var droppedSnapshots = 8
  /// About how many bytes are removed in one transaction.
  public var trimmedBytes = 8 << 20

  public init() {}
}
#endif
