import TernCore

extension SharedFolder {
  func pull(after cursor: Cursor?, excluding excluded: ReplicaID) throws -> PulledPage {
    try scan()
    guard var place = cursor.map(FolderCursor.init) ?? FolderCursor() else {
      throw RemoteError(.cursorUnknown, "the cursor is none of a folder's; pull without one")
    }
    var operations: [Operation] = []
    var bytes = 0
    var hasMore = false
    for replica in index.replicas where replica != excluded {
      let end = index.end(of: replica)
      while place.given[replica] < end, !hasMore {
        let operation = try operation(place.given[replica] + 1, of: replica)
        bytes += operation.bytes.count
        hasMore =
          !operations.isEmpty && bytes > Limit.pageBytes
          || operations.count == Batch.Limit.operations
        if hasMore { break }
        operations.append(operation)
        place.given[replica] += 1
      }
    }
    let disputes = index.disputes
    if operations.isEmpty, let dispute = disputes.first { throw error(dispute) }
    // Of what is disputed the next call tells, when there is nothing else to give.
    return PulledPage(
      operations: operations, cursor: place.cursor, hasMore: hasMore || !disputes.isEmpty,
      nowMilliseconds: nil)
  }

  private func operation(_ sequence: UInt64, of replica: ReplicaID) throws -> Operation {
    guard let place = index.place(replica, sequence) else {
      preconditionFailure("operation \(sequence) of \(replica) is to be given and has no place")
    }
    let number = OperationNumber(replica: replica, sequence: sequence)
    guard let found = try operations(at: place)?[number], index.holds(found) else {
      let name = files[Int(place.file)].name
      // What can be read of it has to be found out again.
      forget()
      throw RemoteError(.unavailable, "“\(name)” is not what it was when it was read first")
    }
    return found
  }

  private func operations(at place: FolderIndex.Place) throws -> [OperationNumber: Operation]? {
    if let frame = recent.first(where: { $0.place == place }) { return frame.operations }
    let file = files[Int(place.file)]
    let operations = try naming("reading “\(file.name)”") {
      try open(file.name).flatMap { try file.operations(of: Int(place.frame), in: $0) }
    }
    guard let operations else { return nil }
    let numbered = operations.map { operation in
      let envelope = operation.envelope
      return (OperationNumber(replica: envelope.replica, sequence: envelope.sequence), operation)
    }
    // A file of somebody else's may say one thing twice.
    let frame = Dictionary(numbered) { first, _ in first }
    recent = [(place, frame)] + recent.prefix(3)
    return frame
  }

  private func error(_ dispute: FolderIndex.Dispute) -> RemoteError {
    let names = Set(dispute.places.map { "“\(files[Int($0.file)].name)”" }).sorted()
    let what = "operation \(dispute.sequence) of replica \(dispute.replica)"
    let place = "\(what) in \(names.joined(separator: " and "))"
    let message =
      dispute.code == .sequenceConflict
      ? "\(place) is not the same: a database was copied, or was restored from a copy; nothing of "
        + "that replica is taken from here on until one of the files is gone"
      : "\(place) is not later than the one before it; nothing of that replica is taken from here on"
    return RemoteError(
      dispute.code, message, replica: dispute.replica, sequence: dispute.sequence)
  }
}
