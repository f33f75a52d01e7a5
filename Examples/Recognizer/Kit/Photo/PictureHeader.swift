/// What the first bytes of a JPEG or PNG say of it. Nothing is decoded.
package struct PictureHeader: Hashable, Sendable {
  package let width: Int
  package let height: Int

  /// With more, a picture of a few bytes can take gigabytes to decode.
  package static let mostPixels = 100_000_000

  /// Behind which a colour profile, a preview and a depth have put the size of any picture.
  package static let length = 16 << 20

  /// - Parameter head: the picture's beginning, ``length`` bytes where it has so many.
  /// - Returns: `nil` for what is neither, or breaks off before it says how large it is.
  package init?(_ head: [UInt8]) {
    guard let (width, height) = Self.pngSize(head) ?? Self.jpegSize(head) else { return nil }
    (self.width, self.height) = (width, height)
  }

  /// Whether it can be decoded without harm. A header can say numbers whose product no integer
  /// holds.
  package var isReasonable: Bool {
    width > 0 && height > 0 && height <= Self.mostPixels / width
  }

  static let pngSignature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
  static let jpegSignature: [UInt8] = [0xFF, 0xD8, 0xFF]

  /// - Source: PNG specification, section 11.2.1.
  private static func pngSize(_ head: [UInt8]) -> (Int, Int)? {
    guard head.count >= 24, head.starts(with: pngSignature) else { return nil }
    func number(_ at: Int) -> Int { head[at..<at + 4].reduce(0) { $0 << 8 | Int($1) } }
    return (number(16), number(20))
  }

  /// - Source: ITU T.81, section B.2: the frame header follows one of the SOF markers.
  private static func jpegSize(_ head: [UInt8]) -> (Int, Int)? {
    guard head.starts(with: jpegSignature) else { return nil }
    var at = 2
    while at + 9 < head.count, head[at] == 0xFF {
      let marker = head[at + 1]
      // Any number of these may stand before a marker.
      if marker == 0xFF {
        at += 1
        continue
      }
      let length = Int(head[at + 2]) << 8 | Int(head[at + 3])
      if 0xC0...0xCF ~= marker, ![0xC4, 0xC8, 0xCC].contains(marker) {
        let height = Int(head[at + 5]) << 8 | Int(head[at + 6])
        return (Int(head[at + 7]) << 8 | Int(head[at + 8]), height)
      }
      at += 2 + max(length, 2)
    }
    return nil
  }
}
