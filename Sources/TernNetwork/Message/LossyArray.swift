/// A JSON array in which an element that can't be read spoils none of the others, as in the answer
/// of a service that is newer than its client.
public struct LossyArray<Element> {
  /// In their order; `nil` in the place of what can't be read.
  public var elements: [Element?]

  public init(_ elements: [Element?] = []) {
    self.elements = elements
  }
}

extension LossyArray: Sendable where Element: Sendable {}

extension LossyArray: Decodable where Element: Decodable {
  private struct Place: Decodable {
    let element: Element?

    // To try is the only way to ask; a failure in here does not move the list's place.
    init(from decoder: any Decoder) { element = try? Element(from: decoder) }
  }

  /// - Throws: `DecodingError` for what is no array.
  public init(from decoder: any Decoder) throws {
    var list = try decoder.unkeyedContainer()
    elements = []
    while !list.isAtEnd { elements.append(try list.decode(Place.self).element) }
  }
}

extension LossyArray: Encodable where Element: Encodable {
  /// What could not be read becomes `null`, and can't be read again.
  public func encode(to encoder: any Encoder) throws { try elements.encode(to: encoder) }
}
