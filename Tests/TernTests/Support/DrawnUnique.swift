import TernTesting

/// A UNIQUE index of any form that Tern syncs: over columns and expressions, of all rows or a part.
///
/// Columns are meant by their numbers, as `‹3›`, so that they can be renamed.
struct DrawnUnique {
  struct Column {
    var id: Int
    /// As it is declared.
    var type: String
  }

  var id: Int
  var terms: [String]
  var condition: String?

  /// - Parameter flag: a column that says which rows count, mostly alone.
  init(
    _ id: Int, over columns: [Column], flag: Column? = nil, using random: inout SeededGenerator
  ) {
    self.id = id
    let first = columns.randomElement(using: &random)!
    terms = [Self.term(of: first, &random)]
    if random.happens(0.3) {
      terms.append(Self.term(of: columns.randomElement(using: &random)!, &random))
    }
    if random.happens(0.2) {
      let other = columns.randomElement(using: &random)!
      terms[0] = "coalesce(‹\(first.id)›, ‹\(other.id)›, '')"
    }
    if let flag, random.happens(0.6) {
      condition = Self.condition(of: flag, &random)
    } else if random.happens(0.7) {
      condition = Self.condition(columns, &random)
    }
  }

  private static func condition(
    _ columns: [Column], _ random: inout SeededGenerator
  ) -> String {
    let one = condition(of: columns.randomElement(using: &random)!, &random)
    if random.happens(0.6) { return one }
    let other = condition(of: columns.randomElement(using: &random)!, &random)
    return random.happens(0.5) ? "\(one) AND (\(other))" : "(\(one)) OR \(other)"
  }

  private static func term(of column: Column, _ random: inout SeededGenerator) -> String {
    let name = "‹\(column.id)›"
    var forms = [name, name, "(\(name)) DESC", "\(name) IS NULL"]
    forms.append("nullif(\(name), \(name) IS NULL)")
    switch column.type {
    case "TEXT":
      forms += [
        "lower(\(name))", "upper(\(name)) COLLATE NOCASE", "trim(\(name), 'xe')",
        "substr(\(name), 2, 2)", "length(\(name))", "replace(\(name), 'u', 'U')",
        "\(name) COLLATE RTRIM", "\(name) COLLATE NOCASE DESC", "ifnull(\(name), 'none')",
        "nullif(\(name), 'Emma')", "\(name) || '-' || \(name)",
        "CASE WHEN \(name) = 'Dune' THEN 'd' ELSE \(name) END",
        "CASE \(name) WHEN 'Dune' THEN 1 WHEN 'Emma' THEN 2 END",
      ]
    case "INTEGER":
      forms += [
        "\(name) % 2", "\(name) * 2 + 1", "-\(name)", "coalesce(\(name), 0)", "\(name) & 1",
        "~\(name) >> 1", "\(name) || ''", "\(name) BETWEEN 0 AND 1",
      ]
    case "", "BLOB": forms += ["length(\(name))", "ifnull(\(name), x'00')"]
    default: break
    }
    return forms.randomElement(using: &random)!
  }

  private static func condition(of column: Column, _ random: inout SeededGenerator) -> String {
    let name = "‹\(column.id)›"
    var forms = ["\(name) IS NULL", "\(name) NOT NULL", "\(name) IS NOT NULL"]
    switch column.type {
    case "TEXT":
      forms += [
        "\(name) = 'Dune'", "\(name) IN ('Dune', 'never')", "NOT \(name) = 'Emma'",
        "length(\(name)) > 4", "\(name) BETWEEN 'A' AND 'F'", "lower(\(name)) = 'dune'",
        "\(name) COLLATE NOCASE < 'e'", "\(name) IS NOT 'Emma' -- not this one\n",
      ]
    case "INTEGER", "BOOLEAN":
      forms += [
        "\(name) = 0", "\(name) = 0", "NOT \(name)", "\(name) = FALSE",
        "\(name) > 0 AND \(name) < 9",
        "\(name) IN (0, 2)", "\(name) IS NOT 1", "/* living */ \(name) <> 1",
      ]
    case "REAL": forms += ["\(name) > 0.5", "\(name) <= 1e0"]
    default: break
    }
    return forms.randomElement(using: &random)!
  }

  /// Whether it names a column.
  func names(_ column: Int) -> Bool {
    (terms + [condition ?? ""]).contains { $0.contains("‹\(column)›") }
  }

  /// Whether the whole key stands in it as it is.
  func isOver(key: Int) -> Bool { terms.contains { ["‹\(key)›", "(‹\(key)›) DESC"].contains($0) } }

  var indexName: String { "some in \(id)".quotedForSQL }

  /// - Parameters:
  ///   - table: in quotes.
  ///   - names: by number, in quotes.
  ///   - pointer: the column by which rows are folded, in quotes.
  func creation(on table: String, _ names: [Int: String], pointer: String? = nil) -> String {
    func named(_ text: String) -> String {
      names.reduce(text) { $0.replacing("‹\($1.key)›", with: $1.value) }
    }
    var conditions = pointer.map { ["\($0) IS NULL"] } ?? []
    if let condition {
      let isEither = pointer != nil && condition.contains(" OR ")
      conditions.append(isEither ? "(\(named(condition)))" : named(condition))
    }
    let condition =
      conditions.isEmpty ? "" : " WHERE \(conditions.joined(separator: " AND "))"
    // One that names a column of the key twice is refused.
    var columns: Set<String> = []
    let terms = terms.filter {
      columns.insert($0.replacing(#/^\((‹\d+›)\) DESC$/#) { "\($0.1)" }).inserted
    }
    return "CREATE UNIQUE INDEX \(indexName) ON \(table) "
      + "(\(terms.map(named).joined(separator: ", ")))\(condition)"
  }
}
