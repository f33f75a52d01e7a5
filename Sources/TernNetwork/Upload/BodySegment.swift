/// A piece of a request's body; the pieces are sent one after the other.
public enum BodySegment: Hashable, Sendable {
  case bytes([UInt8])
  case file(FileSegment)

  public static func text(_ text: String) -> BodySegment { .bytes(Array(text.utf8)) }
}

/// A file, or a part of one, that is read while it is sent.
///
/// The file is opened before the exchange begins and stays the one that is read, also when another
/// takes its name. It must not change until it is sent: an exchange whose file changes its size or
/// its time of modification ends with ``HTTPError/Code/fileChanged`` before the last byte, so that
/// no server takes a mixture for the whole.
public struct FileSegment: Hashable, Sendable {
  public var path: String
  /// The bytes to send, `nil` for all.
  public var range: Range<Int>?
  /// The size that the whole file must have, in bytes; `nil` for whatever it has.
  public var fileByteCount: Int?

  public init(_ path: String, range: Range<Int>? = nil, fileByteCount: Int? = nil) {
    self.path = path
    self.range = range
    self.fileByteCount = fileByteCount
  }
}
