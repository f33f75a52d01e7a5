/// A request's body, ready to be sent: its files are open and its length is known.
///
/// Files are closed when it is released. It keeps no position, so that a body can be sent again.
final class BodySource: Sendable {
  private enum Content {
    case bytes([UInt8])
    case file(OpenFile, offset: Int)
  }

  private struct Piece {
    var content: Content
    /// Where it stands in the body.
    var range: Range<Int>
  }

  let byteCount: Int
  private let pieces: [Piece]
  private let origin: HTTPOrigin?

  /// - Throws: ``HTTPError`` with ``HTTPError/Code/fileMissing``,
  ///   ``HTTPError/Code/fileUnreadable`` or ``HTTPError/Code/fileChanged``.
  init(_ segments: [BodySegment], origin: HTTPOrigin?) throws(HTTPError) {
    var pieces: [Piece] = []
    var end = 0
    for segment in segments {
      let (content, count) = try Self.opened(segment, origin)
      guard count > 0 else { continue }
      let (next, isTooLong) = end.addingReportingOverflow(count)
      guard !isTooLong else {
        throw HTTPError(.fileUnreadable, origin: origin, "its length is no number")
      }
      pieces.append(Piece(content: content, range: end..<next))
      end = next
    }
    self.pieces = pieces
    byteCount = end
    self.origin = origin
  }

  private static func opened(
    _ segment: BodySegment, _ origin: HTTPOrigin?
  ) throws(HTTPError) -> (Content, count: Int) {
    switch segment {
    case .bytes(let bytes): return (.bytes(bytes), bytes.count)
    case .file(let segment):
      let file: OpenFile
      do throws(HTTPError) { file = try OpenFile(segment.path) } catch {
        throw HTTPError(error.code, origin: origin, error.detail)
      }
      let range = segment.range ?? 0..<file.byteCount
      guard segment.fileByteCount ?? file.byteCount == file.byteCount, range.lowerBound >= 0,
        range.upperBound <= file.byteCount
      else {
        let detail = "it has \(file.byteCount) bytes, which is not what was announced"
        throw HTTPError(.fileChanged, origin: origin, detail)
      }
      return (.file(file, offset: range.lowerBound), range.count)
    }
  }

  /// Copies what stands at `position` in the body, from one piece at most.
  ///
  /// - Returns: how many bytes, 0 only at the end.
  /// - Throws: ``HTTPError`` with ``HTTPError/Code/fileUnreadable`` or
  ///   ``HTTPError/Code/fileChanged``.
  func read(
    at position: Int, into room: UnsafeMutableRawBufferPointer
  ) throws(HTTPError) -> Int {
    guard position < byteCount else { return 0 }
    let piece = pieces[index(of: position)]
    let part = UnsafeMutableRawBufferPointer(
      rebasing: room.prefix(piece.range.upperBound - position))
    let start = position - piece.range.lowerBound
    switch piece.content {
    case .bytes(let bytes):
      bytes.withUnsafeBytes {
        part.copyMemory(from: .init(rebasing: $0[start...].prefix(part.count)))
      }
    case .file(let file, let offset):
      do throws(HTTPError) { try file.read(at: offset + start, into: part) } catch {
        throw HTTPError(error.code, origin: origin, error.detail)
      }
    }
    return part.count
  }

  /// The piece that holds the position, by bisection: a form can have thousands.
  private func index(of position: Int) -> Int {
    var (low, high) = (0, pieces.count - 1)
    while low < high {
      let middle = (low + high) / 2
      if pieces[middle].range.upperBound <= position { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
