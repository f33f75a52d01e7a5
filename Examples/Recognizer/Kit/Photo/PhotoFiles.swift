import ExampleService
import Foundation

/// One photo in a folder of its own, where the tools read it. Every call blocks its thread.
struct PhotoFiles: Sendable {
  private let folder: URL
  /// The photo as it is turned from.
  private let base: String
  private let size: (width: Int, height: Int)

  /// Longer photos are made smaller: what tesseract needs for a spine, it has by then.
  static let longestSide = 2000

  /// Writes the photo, upright as its camera says. Whoever has it must ``remove()`` it.
  ///
  /// - Throws: ``UnreadablePhoto``; ``ToolError``.
  init(_ bytes: [UInt8], in parent: URL) throws {
    folder = parent.appending(component: UUID().uuidString, directoryHint: .isDirectory)
    base = folder.appending(component: "base.ppm").path
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    do {
      try Data(bytes).write(to: folder.appending(component: "photo"))
      let converted = try Tool.graphicsMagick.run([
        "convert", "-limit", "pixels", "100MP", "-limit", "memory", "1GB",
        folder.appending(component: "photo").path, "-auto-orient",
        "-resize", "\(Self.longestSide)x\(Self.longestSide)>", base,
      ])
      guard converted.status == 0 else { throw UnreadablePhoto() }
      let asked = try Tool.graphicsMagick.run(["identify", "-format", "%w %h", base])
      let sides = String(decoding: asked.output, as: UTF8.self).split { !$0.isNumber }
      guard sides.count == 2, let width = Int(sides[0]), let height = Int(sides[1])
      else { throw UnreadablePhoto() }
      size = (width, height)
    } catch {
      try FileManager.default.removeItem(at: folder)
      throw error
    }
  }

  func remove() throws { try FileManager.default.removeItem(at: folder) }

  /// The book numbers of all barcodes.
  func barcodes() throws -> [ISBN] {
    let options = ["--quiet", "--raw", "--set", "disable", "--set", "ean13.enable"]
    let read = try Tool.zbarimg.run(options + [base])
    // 4 says that there is none.
    guard read.status == 0 || read.status == 4 else {
      throw ToolError(tool: "zbarimg", reason: "failed with status \(read.status)")
    }
    return String(decoding: read.output, as: UTF8.self).split(separator: "\n")
      .compactMap { ISBN(String($0)) }
  }

  /// One way of reading; each finds words that the others don't.
  struct Pass {
    /// How letters are parted from their ground, as tesseract numbers it.
    enum Threshold: Int {
      case wholePhoto = 0
      case tiles = 1
      case neighbourhood = 2
    }

    var threshold: Threshold
    /// What tesseract takes as the size of a letter's strokes.
    var dotsPerInch: Int
    /// Of the photo's size: large letters are read better when they are small.
    var percent = 100
  }

  /// The words of the photo turned clockwise by `degrees`.
  func words(turned degrees: Int, _ pass: Pass) throws -> [SeenWord] {
    let turned = folder.appending(component: "\(degrees)-\(pass.percent).ppm").path
    if !FileManager.default.fileExists(atPath: turned) {
      let made = try Tool.graphicsMagick.run([
        "convert", base, "-rotate", String(degrees), "-resize", "\(pass.percent)%", turned,
      ])
      guard made.status == 0 else { throw ToolError(tool: "gm", reason: "could not rotate") }
    }
    let read = try Tool.tesseract.run([
      turned, "stdout", "--dpi", String(pass.dotsPerInch), "--psm", "11", "-l", "eng",
      "-c", "thresholding_method=\(pass.threshold.rawValue)", "tsv",
    ])
    guard read.status == 0 else {
      throw ToolError(tool: "tesseract", reason: "failed with status \(read.status)")
    }
    return String(decoding: read.output, as: UTF8.self).split(separator: "\n").dropFirst()
      .flatMap { seenWords(line: $0, turned: degrees, percent: pass.percent) }
  }

  /// A line of tesseract's table: level, page, block, paragraph, line, word, left, top, width,
  /// height, confidence, text.
  private func seenWords(line: Substring, turned degrees: Int, percent: Int) -> [SeenWord] {
    let fields = line.split(separator: "\t", omittingEmptySubsequences: false)
    let numbers = fields.prefix(10).compactMap { Int($0) }
    // Below, it is more often a picture than a word.
    guard fields.count == 12, numbers.count == 10, let confidence = Double(fields[10]),
      confidence >= 25
    else { return [] }
    let sides = numbers[6...].map { $0 * 100 / percent }
    let box = Box(x: sides[0], y: sides[1], width: sides[2], height: sides[3])
    return RecognizerKit.words(of: String(fields[11])).map {
      SeenWord(text: $0, box: box, place: place(of: box, turned: degrees))
    }
  }

  /// Turns a box back.
  private func place(of box: Box, turned degrees: Int) -> Box {
    let (right, bottom) = (box.x + box.width, box.y + box.height)
    return switch degrees {
    case 90: Box(x: box.y, y: size.height - right, width: box.height, height: box.width)
    case 180:
      Box(x: size.width - right, y: size.height - bottom, width: box.width, height: box.height)
    case 270: Box(x: size.width - bottom, y: box.x, width: box.height, height: box.width)
    default: box
    }
  }
}

/// Bytes that are no whole picture.
struct UnreadablePhoto: Error {}
