import TernCore
import TernDatabase

extension SharedFolder {
  func push(_ operations: [SyncOperation]) throws -> PushReceipt {
    // Once more where another process of this device appended in between.
    for _ in 0..<3 {
      try scan()
      if moment.hasLost { throw Self.lost }
      let new = try index.new(of: operations)
      guard new.count <= OperationBatch.Limit.operations,
        new.byteCount <= OperationBatch.Limit.bytes - (64 << 10)
      else { throw RemoteError(.tooLarge, "operations: nobody could read so many in one frame") }
      if try new.isEmpty || append(new) {
        try scan()
        try settle(operations)
        return PushReceipt(
          now: nil, position: moment.position, accepted: new.count)
      }
    }
    throw RemoteError(.unavailable, "another process of this device writes to the folder")
  }

  /// Appends a frame to this replica's own file.
  ///
  /// - Returns: `false` when somebody else is doing so.
  private func append(_ operations: [SyncOperation]) throws -> Bool {
    let writer = try writer()
    let name = ownName(writer)
    return try naming("writing “\(name)”") {
      try FolderListing.create(path, durable, isNamed: isNamed)
      isNamed = true
      guard let file = try AppendedFile.attempt("\(path)/\(name)", durable) else { return false }
      let known = numbers[name].map { files[$0] }
      guard file.identity.byteCount == known?.identity.byteCount ?? 0 else { return false }
      var bytes: [UInt8] = []
      var check = known?.check ?? 0
      if known?.end ?? 0 == 0 {
        bytes = FolderFormat.head(writer: writer, space: space)
        check = FolderFormat.check(endOf: bytes)
      }
      bytes += FolderFormat.frame(operations, after: check)
      let end = Planted.isActive(.tornTailKept) ? file.identity.byteCount : known?.end ?? 0
      try file.append(bytes, after: end, isNamed: settled[name] != nil)
      settled[name] = (known?.end ?? 0) + bytes.count
      guard file.isInPlace else {
        throw RemoteError(
          .unavailable, "“\(name)” was replaced or removed while it was written")
      }
      return true
    }
  }

  /// Makes durable what others wrote, or a process of this device that died before it could.
  private func settle(_ operations: [SyncOperation]) throws {
    var numbers: Set<Int> = []
    for operation in operations {
      let envelope = operation.envelope
      if let place = index.place(envelope.replica, envelope.sequence) {
        numbers.insert(Int(place.file))
      }
    }
    for file in numbers.sorted().map({ files[$0] }) where settled[file.name] ?? 0 < file.end {
      try naming("syncing “\(file.name)”") {
        guard try durable.settle("\(path)/\(file.name)") != nil else {
          throw RemoteError(.unavailable, "“\(file.name)” went while it was pushed to")
        }
        if !isNamed { try durable.syncFolder(of: path) }
        isNamed = true
      }
      settled[file.name] = file.end
    }
  }

  /// Nobody else writes to it: not another device, because the name begins with the replica's id,
  /// and not another process here, because of a lock.
  ///
  /// A file that is long enough, or that no more bytes make whole, is left as it is.
  private func ownName(_ writer: ReplicaID) -> String {
    let prefix = "\(writer)-"
    let own = numbers.compactMap { name, place -> (number: Int, file: FolderFile)? in
      guard name.hasPrefix(prefix) else { return nil }
      let text = name.dropFirst(prefix.count).dropLast(Self.suffix.count)
      // Anybody can make up a name.
      guard let number = Int(text), (1...Limit.number).contains(number), "\(number)" == text
      else { return nil }
      return (number, files[place])
    }
    guard let last = own.max(by: { $0.number < $1.number }) else {
      return "\(prefix)1\(Self.suffix)"
    }
    let isOpen: Bool =
      switch last.file.rest {
      case .damaged, .unreadable: false
      case .nothing, .torn: last.file.end < fileBytes && last.file.writer ?? writer == writer
      }
    return "\(prefix)\(isOpen ? last.number : last.number + 1)\(Self.suffix)"
  }
}
