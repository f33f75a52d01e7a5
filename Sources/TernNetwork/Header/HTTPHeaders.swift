/// Header fields in the order in which they stand in a message; names compare without case.
///
/// Its description shows names only, since values hold credentials.
public struct HTTPHeaders: Hashable, Sendable {
  public struct Field: Hashable, Sendable {
    public var name: String
    public var value: String

    public init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  public private(set) var fields: [Field]

  public init(_ fields: [Field] = []) {
    self.fields = fields
  }

  /// The first value under `name`; setting replaces every field of that name.
  public subscript(name: String) -> String? {
    get { fields.first { Self.same($0.name, name) }?.value }
    set {
      guard let newValue else { return fields.removeAll { Self.same($0.name, name) } }
      if let first = fields.firstIndex(where: { Self.same($0.name, name) }) {
        fields[first].value = newValue
        let later = fields[(first + 1)...].filter { !Self.same($0.name, name) }
        fields.replaceSubrange((first + 1)..., with: later)
      } else {
        add(name, newValue)
      }
    }
  }

  /// Every value under `name`, in order.
  public func values(_ name: String) -> [String] {
    fields.filter { Self.same($0.name, name) }.map(\.value)
  }

  /// Appends a field beside those that have the same name.
  public mutating func add(_ name: String, _ value: String) {
    fields.append(Field(name: name, value: value))
  }

  /// Whether a field can have that value: a line break would end it.
  static func isFieldValue(_ text: String) -> Bool {
    text.utf8.allSatisfy { ($0 >= 0x20 && $0 != 0x7F) || $0 == 0x09 }
  }

  /// ASCII only, as field names are: RFC 9110, section 5.1.
  private static func same(_ left: String, _ right: String) -> Bool {
    left.utf8.count == right.utf8.count
      && zip(left.utf8, right.utf8).allSatisfy { lowered($0) == lowered($1) }
  }

  private static func lowered(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
  }
}

extension HTTPHeaders: ExpressibleByDictionaryLiteral {
  public init(dictionaryLiteral elements: (String, String)...) {
    fields = elements.map { Field(name: $0.0, value: $0.1) }
  }
}

extension HTTPHeaders: CustomStringConvertible {
  public var description: String { fields.map(\.name).joined(separator: ", ") }
}

extension HTTPHeaders.Field: CustomStringConvertible {
  public var description: String { name }
}
