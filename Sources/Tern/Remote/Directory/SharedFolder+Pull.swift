import TernCore

extension SharedFolder {
  func pull(after cursor: RemoteCursor?, excluding excluded: ReplicaID) throws -> PulledPage {
    try scan()
    guard var place = cursor.map(FolderCursor.init) ?? FolderCursor() else {
      throw RemoteError(.cursorUnknown, "the cursor is none of a folder's; pull without one")
    }
    try check(&place)
    var page = PulledPage(
      operations: [], cursor: place.cursor, hasMore: false, now: nil,
      withheld: withheld)
    var bytes = 0
    for replica in index.replicas where replica != excluded && !page.hasMore {
      let end = index.end(of: replica)
      do {
        while place.given[replica] < end, !page.hasMore {
          let operation = try operation(place.given[replica] + 1, of: replica)
          bytes += operation.bytes.count
          page.hasMore =
            !page.operations.isEmpty && bytes > Limit.pageBytes
            || page.operations.count == OperationBatch.Limit.operations
          if page.hasMore { break }
          page.operations.append(operation)
          place.given[replica] += 1
          place.times[replica] = operation.envelope.time
        }
      } catch let failure as UnreadableFile {
        // Those that sort behind it are given all the same.
        page.withheld = page.withheld ?? unreadable(failure.name, failure.reason)
        if Planted.isActive(.unreadPassed) { place.given[replica] = end }
      }
    }
    page.cursor = place.cursor
    return page
  }

  /// Files of one copy of a database may have taken the place of another's: what comes next would
  /// be merged behind what it does not follow.
  ///
  /// - Throws: ``RemoteError`` with `cursor-unknown`: from the beginning on, repeats are compared.
  private func check(_ place: inout FolderCursor) throws {
    for (replica, sequence) in place.given.sorted {
      guard let time = index.time(replica, sequence) else { continue }
      guard place.times[replica] ?? time == time else {
        throw RemoteError(
          .cursorUnknown,
          "the folder has another operation \(sequence) of replica \(replica) than it gave; pull without "
            + "a cursor")
      }
      place.times[replica] = time
    }
  }

  /// What is not given, and is there; the first by name.
  private var withheld: RemoteError? {
    if let dispute = index.disputes.first { return error(dispute) }
    for file in files.sorted(by: { $0.name < $1.name }) where numbers[file.name] != nil {
      if case .unreadable(let reason) = file.rest { return unreadable(file.name, reason) }
    }
    if let name = over.min() {
      return RemoteError(
        .tooLarge,
        "“\(name)” and \(over.count - 1) other files of space “\(space)” are not read: \(fileCrowding)"
      )
    }
    guard let name = crowded.min() else { return nil }
    return RemoteError(.tooLarge, "“\(name)” of space “\(space)” is left out in part: \(crowding)")
  }

  private struct UnreadableFile: Error {
    let name: String
    let reason: String
  }

  private func unreadable(_ name: String, _ reason: String) -> RemoteError {
    RemoteError(
      .unavailable,
      "“\(name)” of space “\(space)” can't be read, and what it alone holds is left out: \(reason)")
  }

  private func operation(_ sequence: UInt64, of replica: ReplicaID) throws -> SyncOperation {
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

  private func operations(at place: FolderIndex.Place) throws -> [OperationNumber: SyncOperation]? {
    if let frame = recent.first(where: { $0.place == place }) { return frame.operations }
    let file = files[Int(place.file)]
    let operations: [SyncOperation]?
    do {
      operations = try open(file.name).flatMap {
        try file.operations(of: Int(place.frame), in: $0)
      }
    } catch let failure as FileFailure {
      throw UnreadableFile(name: file.name, reason: "\(failure)")
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
