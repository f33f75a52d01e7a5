import struct Foundation.Date

/// Why a remote did not do what was asked. Nothing of a refused push is stored.
public struct RemoteError: Error, Hashable, Sendable {
  public struct Code: Hashable, Sendable, RawRepresentable {
    /// The code in a problem document's `type`, after `urn:tern:problem:`.
    public let rawValue: String

    public init(rawValue: String) {
      self.rawValue = rawValue
    }

    /// No answer came: no network, no server, a cut connection, a timeout. Try again.
    public static let unreachable = Code(rawValue: "unreachable")
    /// Not the remote's: its URL is none that can be asked, without a scheme for
    /// example. Correct it.
    public static let invalidAddress = Code(rawValue: "invalid-address")
    /// The remote is overloaded or shutting down. Try again, after ``RemoteError/retryAfter``.
    public static let unavailable = Code(rawValue: "unavailable")
    /// The token is missing, unknown or revoked, or its closure threw: get another one.
    public static let unauthorized = Code(rawValue: "unauthorized")
    /// The token is for another space.
    public static let forbidden = Code(rawValue: "forbidden")
    /// A sequence number was skipped: ask for the greeting and push from its heads.
    public static let sequenceGap = Code(rawValue: "sequence-gap")
    /// Another operation has this replica and sequence number: the database is a copy.
    public static let sequenceConflict = Code(rawValue: "sequence-conflict")
    /// A time is more than five minutes ahead of the remote's clock.
    public static let timeAhead = Code(rawValue: "time-ahead")
    /// A replica's times must increase.
    public static let timeNotIncreasing = Code(rawValue: "time-not-increasing")
    /// The cursor is not of this remote's history: it was wiped or restored. Begin without one.
    public static let cursorUnknown = Code(rawValue: "cursor-unknown")
    /// The cursor, or no cursor, is before what the remote still serves: load its snapshot.
    public static let snapshotNeeded = Code(rawValue: "snapshot-needed")
    /// That snapshot or upload is gone: greet again, and begin again.
    public static let snapshotUnknown = Code(rawValue: "snapshot-unknown")
    /// The remote has a snapshot that is as new, or, for a base, has grown since: greet again.
    public static let snapshotSuperseded = Code(rawValue: "snapshot-superseded")
    /// Parts are missing, or the heads lack an operation that the remote has up to the cursor.
    public static let snapshotIncomplete = Code(rawValue: "snapshot-incomplete")
    /// The part was stored before, with other bytes: a key names one content.
    public static let snapshotConflict = Code(rawValue: "snapshot-conflict")
    /// The snapshot lacks what the remote is known to have, or has what nobody wrote: another
    /// device may have a right one.
    public static let snapshotRefused = Code(rawValue: "snapshot-refused")
    /// The remote lacks what nobody can push any more, and takes a base only when its operator asks
    /// for one: with `tern space refill`.
    public static let refillNeeded = Code(rawValue: "refill-needed")
    /// The remote takes no snapshots, as a folder does not.
    public static let snapshotsUnsupported = Code(rawValue: "snapshots-unsupported")
    /// The space grew since, or the report is of another history: greet again.
    public static let stateSuperseded = Code(rawValue: "state-superseded")
    /// Not the remote's: another replica with the same operations has another state (INV-01), and
    /// no snapshot has made the two equal yet.
    public static let stateDiffers = Code(rawValue: "state-differs")
    /// There is nothing at the URL: correct it.
    public static let notFound = Code(rawValue: "not-found")
    /// The path takes other methods: the server is of another version, or none of Tern's.
    package static let methodNotAllowed = Code(rawValue: "method-not-allowed")
    /// The remote could not read the request.
    package static let malformed = Code(rawValue: "malformed")
    /// What was sent is of a newer version than the remote knows: wait for its update.
    package static let unsupportedVersion = Code(rawValue: "unsupported-version")
    /// The body is of another content type than the remote takes.
    package static let unsupportedMediaType = Code(rawValue: "unsupported-media-type")
    /// The request is over one of the remote's limits.
    public static let tooLarge = Code(rawValue: "too-large")
    /// The remote has as many spaces as it may: use one that is there, or another server.
    package static let tooManySpaces = Code(rawValue: "too-many-spaces")
    /// As many replicas have written into the space as may: new ones need another.
    package static let tooManyReplicas = Code(rawValue: "too-many-replicas")
    /// What is new in that replica's name comes from the member of the space that claimed it, and
    /// the token is another member's.
    package static let authorClaimed = Code(rawValue: "author-claimed")
    /// The space's operator banned that replica: what follows is taken from nobody.
    package static let authorBanned = Code(rawValue: "author-banned")
    /// The space stores as many bytes or operations as it may. What was written waits here, and
    /// pulls go on.
    public static let spaceFull = Code(rawValue: "space-full")
    /// The space's operator has it take nothing at the moment. What was written waits here, and
    /// pulls go on.
    package static let spaceSuspended = Code(rawValue: "space-suspended")
    /// The credential may read the space and not write to it. What was written waits here, and
    /// pulls go on.
    package static let readOnly = Code(rawValue: "read-only")
    /// The remote's operator moved the space to another server, or to another store of this one:
    /// nothing is lost, and what was written waits here. Try again: the URL may lead there soon.
    public static let spaceMoved = Code(rawValue: "space-moved")
    /// Not the remote's: this device's database failed, or what came cannot be merged.
    public static let local = Code(rawValue: "local")
    /// Not the remote's: it holds operations under this replica's id that this database never made,
    /// because it is a copy or was restored, and a new id is not safe.
    package static let foreignOwn = Code(rawValue: "foreign-own")
    /// Not the remote's: its snapshot cannot be loaded here, as where a newer app made it.
    package static let snapshotUnloadable = Code(rawValue: "snapshot-unloadable")
    /// Not the remote's: another connection had this device's database, or the app suspended or
    /// interrupted it. Try again.
    public static let busy = Code(rawValue: "busy")
    /// The answer was none that this protocol knows.
    public static let unexpectedAnswer = Code(rawValue: "unexpected-answer")
  }

  public var code: Code
  /// What happened, to what, and what to do; no secret and no payload.
  public var message: String
  /// The replica and sequence number of the refused operation, where there is one.
  public var replica: ReplicaID?
  public var sequence: UInt64?
  /// The remote's clock, where it sent it.
  public var now: Date?
  /// How long the remote asked to be left alone.
  public var retryAfter: Duration?

  public init(
    _ code: Code, _ message: String, replica: ReplicaID? = nil, sequence: UInt64? = nil,
    now: Date? = nil, retryAfter: Duration? = nil
  ) {
    self.code = code
    self.message = message
    self.replica = replica
    self.sequence = sequence
    self.now = now
    self.retryAfter = retryAfter
  }

  /// Whether the same request can succeed later with nothing changed here.
  public var isTransient: Bool {
    [.unreachable, .unavailable, .unexpectedAnswer, .busy, .spaceMoved].contains(code)
  }
}

extension RemoteError: AdvisingError {
  /// What it says to a job that syncs.
  public var advice: FailureAdvice {
    switch code {
    case .unreachable, .busy: .unreachable
    // Without a time it may be the disk that is full, which no silence mends.
    case .unavailable: retryAfter.map { .limited(delay: $0) } ?? .failed
    case .unexpectedAnswer, .spaceMoved: .failed
    default: .permanent
    }
  }
}

extension RemoteError: CustomStringConvertible {
  /// Also what a server says can be shown.
  public var description: String { "\(message) (\(code.rawValue))".shown() }
}

extension RemoteError.Code: CustomStringConvertible {
  public var description: String { rawValue.shown() }
}
