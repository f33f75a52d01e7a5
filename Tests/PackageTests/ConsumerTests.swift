import Rehearsals
import Testing

/// What a user of the library gets who depends on the product `Tern` alone.
///
/// A short rehearsal lets the compiler read the pages against this build alone.
struct ConsumerTests {
  @Test(.enabled(if: !Rehearsal.isLong, "a long rehearsal compiles them"))
  func `every snippet of README and Docs is read by the compiler`() async throws {
    let (output, code) = try await Consumer.readSnippets()
    #expect(code == 0, "\(output)")
  }

  @Test(.enabled(if: Rehearsal.isLong, "it takes a build of its own: TERN_LONG"))
  func `every snippet of README and Docs compiles`() async throws {
    let consumer = try await Consumer.built.value
    #expect(consumer.succeeded, "\(consumer.log)")
  }

  @Test(.enabled(if: Rehearsal.isLong, "it takes a build of its own: TERN_LONG"))
  func `nothing of the server's is fetched`() async throws {
    let consumer = try await Consumer.built.value
    #expect(try consumer.pins() == ["grdb.swift"])
    #expect(try consumer.checkouts() == ["GRDB.swift"])
  }

  @Test(.enabled(if: Rehearsal.isLong, "it takes a build of its own: TERN_LONG"))
  func `README's program prints what README says`() async throws {
    let consumer = try await Consumer.built.value
    try #require(consumer.succeeded, "\(consumer.log)")
    let expected = try #require(try Snippet.blocks("text", in: "README.md").first)
    let (output, code) = try await consumer.runProgram()
    #expect(code == 0)
    #expect(output == expected.text + "\n")
  }
}
