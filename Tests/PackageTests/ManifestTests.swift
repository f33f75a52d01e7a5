import Testing

/// What the packages of this repository ask SwiftPM for.
struct ManifestTests {
  /// Then one checkout serves both, and what was compiled of it for Tern.
  @Test func `the examples ask for the same packages as Tern`() throws {
    let url = #/\.package\(url: "[^"]+", from: "[^"]+"\)/#
    let own = try Repository.text("Package.swift").matches(of: url).map(\.output)
    let examples = try Repository.text("Examples/Package.swift").matches(of: url).map(\.output)
    #expect(!examples.isEmpty)
    #expect(Set(examples).isSubset(of: own))
  }
}
