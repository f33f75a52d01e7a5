import ExampleService
import Foundation

/// A book that was found, and how sure that is.
public struct Finding: Hashable, Sendable {
  public var book: CatalogueBook
  /// Between 0 and 1; below 0.8 a person should look.
  public var confidence: Double

  public init(book: CatalogueBook, confidence: Double) {
    self.book = book
    self.confidence = confidence
  }
}

/// Recognizes the books in a photo: barcodes first, then titles, read in every direction.
public struct PhotoReader: Sendable {
  public let matcher: Matcher
  private let folder: URL

  /// - Parameter folder: for photos while they are read.
  public init(matcher: Matcher, folder: URL = FileManager.default.temporaryDirectory) {
    self.matcher = matcher
    self.folder = folder
  }

  /// One that finds the books of catalogues.
  ///
  /// - Parameter paths: of CSV files, at least one.
  /// - Throws: ``Refusal``.
  public init(catalogues paths: [String]) throws {
    if let missing = Self.missingTools { throw Refusal(missing) }
    guard !paths.isEmpty else { throw Refusal("--catalogue is missing") }
    let books = try paths.flatMap { path in
      do {
        return try Catalogue(contentsOf: path).books
      } catch {
        throw Refusal("\(path): \(error.systemReason)")
      }
    }
    self.init(matcher: Matcher(Catalogue(books)))
  }

  /// How to install what is missing; `nil` when nothing is.
  public static var missingTools: String? {
    let missing = [Tool.tesseract, .zbarimg, .graphicsMagick].filter { $0.path == nil }
    guard !missing.isEmpty else { return nil }
    return "there is no \(missing.map(\.name).joined(separator: " and no ")); install it with: "
      + "apt-get install \(missing.map(\.package).joined(separator: " "))"
  }

  /// Calls `found` with each book once, the sure ones as soon as they are read. Blocks its thread
  /// for some seconds. The same photo gives the same books.
  ///
  /// - Throws: ``UnreadablePhoto``; ``ToolError``.
  public func read(_ photo: [UInt8], found: (Finding) -> Void) throws {
    let files = try PhotoFiles(photo, in: folder)
    // A folder for temporary files that can't be cleared is no reason to lose what was read.
    defer { try? files.remove() }
    var shelf = Shelf(matcher: matcher)
    for isbn in try files.barcodes() { shelf.add(isbn).map(found) }
    for degrees in [270, 90, 0, 180] {
      shelf.add(try files.words(turned: degrees, Self.firstPass), turned: degrees)
    }
    for finding in shelf.sure() { found(finding) }
    let direction = shelf.mainDirection
    for pass in Self.morePasses {
      shelf.add(try files.words(turned: direction, pass), turned: direction)
      for finding in shelf.sure() { found(finding) }
    }
    for finding in shelf.all() { found(finding) }
  }

  private static let firstPass = PhotoFiles.Pass(threshold: .wholePhoto, dotsPerInch: 250)
  /// Chosen among fifteen by what they find together on photos of real shelves.
  private static let morePasses = [
    PhotoFiles.Pass(threshold: .tiles, dotsPerInch: 250),
    PhotoFiles.Pass(threshold: .tiles, dotsPerInch: 150, percent: 70),
    PhotoFiles.Pass(threshold: .neighbourhood, dotsPerInch: 70),
  ]
}
