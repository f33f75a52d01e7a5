import ExampleProcesses
import Foundation

/// A picture with nothing but book numbers as barcodes: read at once, and without doubt.
package enum BarcodePhoto {
  private static let moduleWidth = 3
  private static let height = 110
  private static let margin = 40

  /// Writes a PNG.
  ///
  /// - Parameter isbns: of 13 digits.
  package static func write(_ isbns: [String], to path: String) throws {
    let rows = isbns.map { modules(of: Array($0.utf8).map { Int($0) - 48 }) }
    let width = 95 * moduleWidth + margin * 2
    let blank = [UInt8](repeating: 255, count: width)
    var pixels: [UInt8] = []
    for modules in rows {
      let edge = [UInt8](repeating: 255, count: margin)
      let bars = modules.flatMap { [UInt8](repeating: $0 ? 0 : 255, count: moduleWidth) }
      for _ in 0..<margin { pixels += blank }
      for _ in 0..<height { pixels += edge + bars + edge }
    }
    for _ in 0..<margin { pixels += blank }
    let map = path + ".pgm"
    try Data("P5 \(width) \(pixels.count / width) 255\n".utf8 + pixels)
      .write(to: URL(filePath: map))
    defer { unlink(map) }
    let tool = try ChildProcess(
      "/usr/bin/env", arguments: ["gm", "convert", map, "-strip", "png:\(path)"])
    tool.endInput()
    while tool.read() != nil {}
    guard tool.wait() == 0 else {
      throw ScanCrashFailure("gm made no picture; apt-get install graphicsmagick")
    }
  }

  /// Whether each of the 95 modules is a bar.
  ///
  /// - Source: GS1 General Specifications, section 5.2.1, "EAN-13".
  private static func modules(of digits: [Int]) -> [Bool] {
    // Of the odd-parity form; the even one is its complement backwards.
    let odd = [
      "0001101", "0011001", "0010011", "0111101", "0100011", "0110001", "0101111", "0111011",
      "0110111", "0001011",
    ].map { $0.map { $0 == "1" } }
    // Which of the left six are of even parity, by the first digit.
    let parities = [0, 11, 13, 14, 19, 25, 28, 21, 22, 26]
    let parity = parities[digits[0]]
    let guardBars = [true, false, true]
    let left = (0..<6).flatMap { place -> [Bool] in
      let digit = odd[digits[place + 1]]
      let isEven = parity >> (5 - place) & 1 == 1
      return isEven ? digit.reversed().map { !$0 } : digit
    }
    let right = digits[7...].flatMap { odd[$0].map { !$0 } }
    return guardBars + left + [false] + guardBars + [false] + right + guardBars
  }
}
