import ExampleService
import Testing

@testable import RecognizerKit

struct CatalogueTests {
  private static let header = "isbn,authors,title,original_title\n"

  private func catalogue(_ rows: String) throws -> Catalogue {
    try Catalogue(Array((Self.header + rows).utf8))
  }

  @Test func `quotes hold commas, quotes and lines`() throws {
    let books = try catalogue("080442957X,\"Ann A, Bea B\",\"One, \"\"two\"\"\nthree\",\n").books
    #expect(books.map(\.title) == ["One, \"two\"\nthree"])
    #expect(books[0].authors == ["Ann A", "Bea B"])
    #expect(books[0].isbn == "080442957X")
  }

  @Test func `what is written is read again`() throws {
    let records = [["a", "b,c", "d \"e\"", "f\r\ng"], ["", "1", "2.5", "é"]]
    let text = CSVWriter.text(records)
    #expect(text.hasPrefix("a,\"b,c\",\"d \"\"e\"\"\",\"f\r\ng\"\r\n"))
    #expect(try CSVReader.records(Array(text.utf8)).map(\.fields) == records)
  }

  @Test(arguments: ["=HYPERLINK(\"http://x\")", "+1", "-1", "@a", "\ta", "\ra"])
  func `a cell that a spreadsheet would take for a formula begins with an apostrophe`(
    _ cell: String
  )
    throws
  {
    let records = try CSVReader.records(Array(CSVWriter.text([[cell, "a=b"]]).utf8))
    #expect(records.map(\.fields) == [["'" + cell, "a=b"]])
  }

  @Test func `what a terminal would obey is written out`() {
    #expect(
      CSVWriter.text([["a\u{1B}[2J", "b\u{202E}\u{9B}"]]) == "a\\u{1B}[2J,b\\u{202E}\\u{009B}\r\n")
  }

  @Test(arguments: [
    ("1,a,b\n", 2, "3 fields"), ("1,a,b,c\n\n1,a,,c\n", 4, "without a title"),
    ("1,a,b,c\n1,a,\"b,c\n", 3, "never closed"),
  ])
  func `a row that is no book is refused by its line`(
    _ rows: String, _ line: Int, _ words: String
  ) throws {
    let error = try #require(throws: CatalogueError.self) { try catalogue(rows) }
    #expect(error.line == line)
    #expect(error.reason.contains(words))
  }

  @Test func `a byte order mark is no part of the first column`() throws {
    let text = "\u{FEFF}isbn,authors,title\n080442957X,Ann A,One\n"
    #expect(try Catalogue(Array(text.utf8)).books.map(\.isbn) == ["080442957X"])
  }

  @Test func `a file without the columns is refused`() throws {
    let error = try #require(throws: CatalogueError.self) { try Catalogue(Array("a,b\n".utf8)) }
    #expect(error.description == "line 1: there is no column 'title'")
  }

  @Test func `numbers are of ten or thirteen digits`() {
    #expect(ISBN("439554934")?.text == "0439554934")
    #expect(ISBN("0-439-55493-4")?.thirteen == "9780439554930")
    #expect(ISBN("9780439554930")?.text == "9780439554930")
    #expect(ISBN("0009000080")?.thirteen == "9780009000089")
    #expect(ISBN("1234567890123") == nil)
    #expect(ISBN("9.78043902348e+12") == nil)
    #expect(ISBN("") == nil)
  }
}
