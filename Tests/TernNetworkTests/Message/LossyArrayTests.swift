import Foundation
import TernNetwork
import Testing

@Suite("Message: what a service says in JSON")
struct LossyArrayTests {
  private struct Book: Codable, Hashable, Sendable {
    var title: String
  }

  private static let text = #"[{"title": "Dune"}, {"title": null}, 7, {"title": "Emma", "a": 1}]"#

  @Test("an element that can't be read spoils none of the others, nor moves them")
  func lossy() throws {
    let list = try JSONDecoder().decode(LossyArray<Book>.self, from: Data(Self.text.utf8))
    #expect(list.elements == [Book(title: "Dune"), nil, nil, Book(title: "Emma")])
    let again = try JSONDecoder().decode(
      LossyArray<Book>.self, from: JSONEncoder().encode(list))
    #expect(again.elements == list.elements)
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(LossyArray<Book>.self, from: Data("{}".utf8))
    }
  }

  @Test("an event's data are a value, or none")
  func event() {
    #expect(ServerEvent(data: #"{"title":"Dune"}"#).json(Book.self) == Book(title: "Dune"))
    for data in ["", "{}", "[", #"{"title":1}"#] {
      #expect(ServerEvent(data: data).json(Book.self) == nil)
    }
  }

  @Test("a service's own way to write dates is read by its decoder")
  func decoder() async throws {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .secondsSince1970
    let (text, date) = ("[60]", Date(timeIntervalSince1970: 60))
    #expect(ServerEvent(data: text).json([Date].self, decoder: decoder) == [date])
    #expect(ServerEvent(data: text).json([Date].self) != [date])
    let answer = HTTPResponse(status: 200, body: HTTPBody(Array(text.utf8)))
    #expect(try await answer.json([Date].self, decoder: decoder) == [date])
  }
}
