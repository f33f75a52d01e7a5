/// A batch's operations one behind the other. One that follows its author's last one in the batch
/// stands without what it has in common with that.
///
/// Between the digits of random keys nothing is left for a compressor but what it has seen before,
/// and each place where it has to begin anew costs two bytes or more; author, sequence and time
/// make it do so three times an operation.
package enum BatchContent {
  /// What an author's last operation in the batch says of the next one.
  private struct Last {
    var version: UInt8
    var replica: ReplicaID
    var sequence: UInt64
    var time: HybridTime

    init(_ operation: SyncOperation) {
      let envelope = operation.envelope
      version = operation.bytes[0]
      (replica, sequence, time) = (envelope.replica, envelope.sequence, envelope.time)
    }

    /// How many milliseconds later it was made; `nil` where it does not follow.
    func milliseconds(to next: Last) -> UInt64? {
      guard next.version == version, next.sequence == sequence + 1,
        next.time.milliseconds >= time.milliseconds
      else { return nil }
      return UInt64(next.time.milliseconds - time.milliseconds)
    }
  }

  package static func write(_ operations: [SyncOperation]) -> [UInt8] {
    var writer = ByteWriter()
    writer.reserve(operations.reduce(0) { $0 + $1.bytes.count + 4 })
    var places: [ReplicaID: Int] = [:]
    var lasts: [Last] = []
    for operation in operations {
      let next = Last(operation)
      if let place = places[next.replica], let later = lasts[place].milliseconds(to: next) {
        writer.append(varint: UInt64(place + 1))
        writer.append(varint: UInt64(operation.bytes.count - operation.timeEnd))
        writer.append(byte: operation.bytes[1])
        writer.append(varint: later)
        writer.append(varint: UInt64(next.time.counter))
        operation.bytes.withUnsafeBytes {
          writer.append(raw: UnsafeRawBufferPointer(rebasing: $0[operation.timeEnd...]))
        }
        lasts[place] = next
      } else {
        writer.append(byte: 0)
        writer.append(varint: UInt64(operation.bytes.count))
        writer.append(raw: operation.bytes)
        places[next.replica] = lasts.count
        lasts.append(next)
      }
    }
    return writer.bytes
  }

  package static func read(
    _ content: UnsafeRawBufferPointer, count: Int
  ) throws(WireError) -> [SyncOperation] {
    var reader = ByteReader(content)
    var operations: [SyncOperation] = []
    var lasts: [Last] = []
    for _ in 0..<count {
      let place = try reader.varint("operation before")
      guard place <= lasts.count else { throw WireError(.malformed, "operation before") }
      let restCount = try reader.count("operation length")
      if place == 0 {
        let operation = try SyncOperation(bytes: Array(reader.bytes(restCount, "operation")))
        operations.append(operation)
        lasts.append(Last(operation))
      } else {
        let operation = try next(after: lasts[Int(place - 1)], &reader, restCount)
        operations.append(operation)
        lasts[Int(place - 1)] = Last(operation)
      }
    }
    guard reader.isAtEnd else { throw WireError(.malformed, "batch end") }
    return operations
  }

  private static func next(
    after last: Last, _ reader: inout ByteReader, _ restCount: Int
  ) throws(WireError) -> SyncOperation {
    let flags = try reader.byte("operation flags")
    let later = try reader.varint("time")
    guard later <= HybridTime.maximumMilliseconds,
      let counter = UInt16(exactly: try reader.varint("time"))
    else { throw WireError(.malformed, "time") }
    let milliseconds = UInt64(last.time.milliseconds) + later
    guard milliseconds <= HybridTime.maximumMilliseconds else {
      throw WireError(.malformed, "time")
    }
    var writer = ByteWriter()
    writer.reserve(restCount + 32)
    writer.append(byte: last.version)
    writer.append(byte: flags)
    writer.append(replica: last.replica)
    writer.append(varint: last.sequence + 1)
    writer.append(fixed: milliseconds << 16 | UInt64(counter))
    writer.append(raw: try reader.bytes(restCount, "operation"))
    return try SyncOperation(bytes: writer.bytes)
  }
}
