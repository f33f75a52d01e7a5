import Tern
import WireKit

extension FuzzTarget {
  /// A request's or an answer's whole body.
  static let batch = FuzzTarget(
    name: "batch", samples: { WireSamples.batches() },
    run: { bytes in
      guard let batch = try refusing(WireError.self, { try OperationBatch(encoded: bytes) }) else {
        return .refused
      }
      let encoded = batch.encoded()
      // One batch has several envelopes, of which a writer makes one.
      try require(try OperationBatch(encoded: encoded) == batch, "a batch changes on its way")
      try require(
        try OperationBatch(encoded: encoded).encoded() == encoded, "a batch is written in two ways")
      for operation in batch.operations { try checkOperation(operation.bytes) }
      return .taken
    })

  /// One operation's envelope and, where it can be read, its body.
  static let operation = FuzzTarget(
    name: "operation", samples: { WireSamples.operations().map(\.bytes) },
    run: { bytes in
      guard try refusing(WireError.self, { try SyncOperation(bytes: bytes) }) != nil else {
        return .refused
      }
      try checkOperation(bytes)
      return .taken
    })

  /// Row changes.
  static let body = FuzzTarget(
    name: "body", samples: { try WireSamples.bodies() + Arena.honestBodies() },
    run: { bytes in
      let operation = SyncOperation(
        .init(
          replica: ReplicaID(high: 1, low: 1), sequence: 1, time: HybridTime(milliseconds: 1)),
        body: bytes)
      guard let again = try refusing(WireError.self, { try rewritten(bytes) }) else {
        try require(
          operation.bodyError() != nil, "a body is read by one reader, and not by another")
        return .refused
      }
      try require(again == bytes, "a body is written in two ways")
      try require(operation.bodyError() == nil, "a body is read by one reader, and not by another")
      return .taken
    })

  private static func checkOperation(_ bytes: [UInt8]) throws {
    let operation = try SyncOperation(bytes: bytes)
    let body = Array(bytes[operation.bodyOffset...])
    try require(
      SyncOperation(operation.envelope, body: body).bytes == bytes,
      "an operation is written in two ways")
    let later = operation.restamped(operation.envelope.time)
    try require(later == operation, "an operation changes with its own time")
    if operation.bodyError() == nil {
      try require(try rewritten(body) == body, "a body is written in two ways")
    }
  }
}

/// What `body` returns, or `nil` where it refuses with an error of that type.
func refusing<Value, Failure: Error>(
  _ type: Failure.Type, _ body: () throws -> Value
) throws -> Value? {
  do {
    return try body()
  } catch is Failure {
    return nil
  }
}
