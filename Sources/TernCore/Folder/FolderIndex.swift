/// Which operations a folder holds, and where: what can be given out, what still lacks something
/// before it, and what its files disagree about.
///
/// Pure: operations come in file by file, in whatever order the files arrived. Keeps about 40 bytes
/// for each of them.
package struct FolderIndex: Sendable {
  /// One frame of one file.
  package struct Place: Hashable, Sendable {
    package var file: Int32
    package var frame: Int32

    package init(file: Int, frame: Int) {
      (self.file, self.frame) = (Int32(file), Int32(frame))
    }
  }

  /// Two files say different things, or one says what no author writes.
  package struct Dispute: Hashable, Sendable {
    package var code: RemoteError.Code
    package var replica: ReplicaID
    package var sequence: UInt64
    package var places: [Place]
  }

  package struct Record: Sendable {
    let time: HybridTime
    /// Of the operation's bytes; it means something in this process alone.
    let digest: Int
    package let place: Place
    let continues: Bool

    init(_ operation: SyncOperation, at place: Place) {
      time = operation.envelope.time
      digest = Self.digest(operation)
      self.place = place
      continues = operation.envelope.continues
    }

    static func digest(_ operation: SyncOperation) -> Int {
      var hasher = Hasher()
      operation.bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
      return hasher.finalize()
    }

    /// INV-11: times increase from group to group, and the fragments of a group share theirs.
    func canPrecede(_ next: Record) -> Bool {
      continues ? next.time == time : next.time > time
    }
  }

  private struct Author {
    /// Sequence n is at index n − 1, without a hole.
    var chain: [Record] = []
    /// What lacks something before it.
    var early: [UInt64: Record] = [:]
    var dispute: Dispute?

    func record(_ sequence: UInt64) -> Record? {
      sequence <= UInt64(chain.count) ? chain[Int(sequence) - 1] : early[sequence]
    }
  }

  package enum Limit {
    /// Of how many replicas a folder can hold operations: as many as one operation can name.
    package static let replicas = SyncOperation.Limit.seen
  }

  private var authors: [ReplicaID: Author] = [:]
  private let replicaLimit: Int

  package init(replicas: Int = Limit.replicas) {
    replicaLimit = replicas
  }

  private func hasRoom(for replica: ReplicaID) -> Bool {
    authors[replica] != nil || authors.count < replicaLimit
  }

  // MARK: - In

  /// - Returns: `false` for one of a replica more than the folder can have, which is left out.
  @discardableResult
  package mutating func add(_ operation: SyncOperation, at place: Place) -> Bool {
    let envelope = operation.envelope
    guard hasRoom(for: envelope.replica) else { return false }
    let new = Record(operation, at: place)
    let (replica, sequence) = (envelope.replica, envelope.sequence)
    if let known = authors[replica]?.record(sequence) {
      if known.digest != new.digest {
        dispute(.sequenceConflict, replica, sequence, [known.place, place])
      }
    } else if sequence == head(of: replica) + 1 {
      extend(replica, new)
      var next = sequence + 1
      while let early = authors[replica]?.early.removeValue(forKey: next) {
        extend(replica, early)
        next += 1
      }
    } else {
      authors[replica, default: Author()].early[sequence] = new
    }
    return true
  }

  private mutating func extend(_ replica: ReplicaID, _ record: Record) {
    let last = authors[replica]?.chain.last
    authors[replica, default: Author()].chain.append(record)
    if let last, !last.canPrecede(record) {
      dispute(.timeNotIncreasing, replica, head(of: replica), [last.place, record.place])
    }
  }

  private mutating func dispute(
    _ code: RemoteError.Code, _ replica: ReplicaID, _ sequence: UInt64, _ places: [Place]
  ) {
    if let known = authors[replica]?.dispute, known.sequence <= sequence { return }
    authors[replica]?.dispute = Dispute(
      code: code, replica: replica, sequence: sequence, places: places)
  }

  // MARK: - Out

  /// Up to which sequence number nothing is missing.
  package var heads: VersionVector {
    VersionVector(authors.mapValues { UInt64($0.chain.count) })
  }

  package func head(of replica: ReplicaID) -> UInt64 {
    UInt64(authors[replica]?.chain.count ?? 0)
  }

  /// By author; of each the first operation that is disputed.
  package var disputes: [Dispute] {
    authors.values.compactMap(\.dispute).sorted { $0.replica < $1.replica }
  }

  package var replicas: [ReplicaID] { authors.keys.sorted() }

  /// The last operation of a replica that can be given out: its group is whole (INV-06), nothing
  /// is missing before it, and nobody disputes what is before it.
  package func end(of replica: ReplicaID) -> UInt64 {
    guard let author = authors[replica] else { return 0 }
    var end = author.chain.count
    if let dispute = author.dispute { end = min(end, Int(dispute.sequence) - 1) }
    while end > 0, author.chain[end - 1].continues { end -= 1 }
    return UInt64(end)
  }

  /// Where an operation up to ``head(of:)`` stands.
  package func place(_ replica: ReplicaID, _ sequence: UInt64) -> Place? {
    authors[replica]?.record(sequence)?.place
  }

  package func time(_ replica: ReplicaID, _ sequence: UInt64) -> HybridTime? {
    authors[replica]?.record(sequence)?.time
  }

  package func holds(_ operation: SyncOperation) -> Bool {
    let envelope = operation.envelope
    return authors[envelope.replica]?.record(envelope.sequence)?.digest == Record.digest(operation)
  }

  /// Which of the operations of a push are new here, in their order.
  ///
  /// - Throws: ``RemoteError`` with `sequence-gap`, `sequence-conflict`, also for one behind
  ///   what is disputed, `time-not-increasing`, or `too-large` for one replica too many.
  package func new(of pushed: [SyncOperation]) throws(RemoteError) -> [SyncOperation] {
    var lasts: [ReplicaID: (sequence: UInt64, record: Record)] = [:]
    var new: [SyncOperation] = []
    var added = 0
    for operation in pushed {
      let envelope = operation.envelope
      let replica = envelope.replica
      if lasts[replica] == nil, authors[replica] == nil,
        authors.count + added >= replicaLimit
      {
        throw refusal(.tooLarge, envelope)
      }
      if lasts[replica] == nil, authors[replica] == nil { added += 1 }
      let last = lasts[replica] ?? authors[replica]?.chain.last.map { (head(of: replica), $0) }
      let next = (last?.sequence ?? 0) + 1
      if envelope.sequence < next || authors[replica]?.record(envelope.sequence) != nil {
        let isSame = holds(operation) || new.contains(operation)
        guard isSame else { throw refusal(.sequenceConflict, envelope) }
        if envelope.sequence < next { continue }
      }
      guard envelope.sequence == next else { throw refusal(.sequenceGap, envelope) }
      // Nobody would be given it.
      if let dispute = authors[replica]?.dispute { throw refusal(envelope, behind: dispute) }
      let record = Record(operation, at: Place(file: 0, frame: 0))
      if let last, !last.record.canPrecede(record) { throw refusal(.timeNotIncreasing, envelope) }
      lasts[replica] = (next, record)
      new.append(operation)
    }
    return new
  }

  private func refusal(_ envelope: SyncOperation.Envelope, behind dispute: Dispute) -> RemoteError {
    RemoteError(
      .sequenceConflict,
      "the folder's files disagree about operation \(dispute.sequence) of replica \(dispute.replica), and "
        + "operation \(envelope.sequence) behind it would be given to nobody: its device needs a replica "
        + "id of its own",
      replica: envelope.replica, sequence: envelope.sequence)
  }

  private func refusal(_ code: RemoteError.Code, _ envelope: SyncOperation.Envelope) -> RemoteError
  {
    let what = "operation \(envelope.sequence) of replica \(envelope.replica)"
    let message =
      switch code {
      case .sequenceGap: "\(what) came before the one that it follows; ask for the heads"
      case .sequenceConflict:
        "the folder has another \(what): the database is a copy of another, and needs a replica id "
          + "of its own"
      case .tooLarge:
        "\(what) is of one replica more than the \(replicaLimit) that a folder can have; begin a new "
          + "space"
      default: "\(what) is not later than the one before it"
      }
    return RemoteError(
      code, message, replica: envelope.replica, sequence: envelope.sequence)
  }
}
