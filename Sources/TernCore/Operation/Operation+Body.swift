extension SyncOperation {
  /// Calls `body` for each block with the reader before its first row; `body` reads every row.
  package func forEachBlock(_ body: (BodyBlock, inout BodyReader) throws -> Void) throws {
    try bytes.withUnsafeBytes { buffer in
      var reader = BodyReader(UnsafeRawBufferPointer(rebasing: buffer[bodyOffset...]))
      while let block = try reader.nextBlock() { try body(block, &reader) }
    }
  }

  /// Why the body cannot be read, or `nil`.
  ///
  /// It depends on the bytes alone and on no schema, so that every replica answers the same.
  package func bodyError() -> WireError? {
    var row = BodyRow()
    do throws(WireError) {
      try bytes.withUnsafeBytes { buffer in
        Result { () throws(WireError) in
          var reader = BodyReader(UnsafeRawBufferPointer(rebasing: buffer[bodyOffset...]))
          while let block = try reader.nextBlock() {
            while try reader.nextRow(&row, of: block) {}
          }
        }
      }.get()
    } catch {
      return error
    }
    return nil
  }
}
