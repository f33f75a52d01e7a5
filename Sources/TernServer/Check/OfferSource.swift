#if Server
/// From where a check reads: a store, or a file that is only looked at.
struct OfferSource {
  /// A part of a snapshot; `nil` where it is not there.
  let part: (_ index: Int, _ snapshot: StoredSnapshot) throws -> [UInt8]?
  /// The space's operations after a position.
  let operations: (_ position: UInt64) throws -> Operations

  struct Operations {
    /// Those up to here are served no more.
    let trimmed: UInt64
    let bytes: [[UInt8]]
    /// The last position that they span.
    let end: UInt64
  }
}
#endif
