import TernCore

/// Reads an expression of the schema, and throws ``UnsupportedExpression`` at whatever is not on
/// the list of what every SQLite computes alike (Docs/Design/0054).
///
/// A recursive descent, one method for each precedence.
///
/// - Source: <https://www.sqlite.org/lang_expr.html>
struct ExpressionParser {
  private let text: SQLText
  private let tokens: ArraySlice<SQLText.Token>
  private var place: Int
  private var depth = 0
  private let column: (String) throws -> ExpressionValue?
  private var columns: [(range: Range<Int>, name: String)] = []
  private(set) var used = BuiltIns()

  static let allowedFunctions: [String: ClosedRange<Int>] = [
    "coalesce": 2...100, "ifnull": 2...2, "nullif": 2...2, "lower": 1...1, "upper": 1...1,
    "trim": 1...2, "substr": 2...3, "length": 1...1, "replace": 3...3,
  ]
  static let allowedCollations: Set<String> = ["binary", "nocase", "rtrim"]
  /// SQLite allows 1,000, for which a thread's stack may be too small.
  private static let maximumDepth = 40

  /// - Parameter column: what a name stands for; `nil` where there is no such column.
  init(
    _ text: SQLText, _ range: Range<Int>, column: @escaping (String) throws -> ExpressionValue?
  ) {
    self.text = text
    tokens = text.tokens[range]
    place = range.lowerBound
    self.column = column
  }

  /// - Parameter isTerm: whether ASC or DESC may follow, as in an index.
  mutating func read(isTerm: Bool = false) throws -> IndexExpression {
    let start = place
    guard start < tokens.endIndex else { throw unreadable() }
    _ = try disjunction()
    let end = place
    if isTerm, !take("asc") { _ = take("desc") }
    guard place == tokens.endIndex else { throw unreadable() }
    let bytes = text.bytes[tokens[start].range.lowerBound..<tokens[end - 1].range.upperBound]
    return IndexExpression(bytes, columns: columns)
  }

  // MARK: - Tokens

  private var next: SQLText.Token? { place < tokens.endIndex ? tokens[place] : nil }

  private func unreadable() -> UnsupportedExpression {
    let near = next.map { "near “\($0.text)”" } ?? "at its end"
    return UnsupportedExpression(
      "can't be read \(near)",
      "use columns, literals, comparisons, IS, IN, AND, OR, NOT, ||, CASE, sums and products of "
        + "whole numbers")
  }

  private mutating func take(_ keyword: String) -> Bool {
    guard next?.isWord(keyword) ?? false else { return false }
    place += 1
    return true
  }

  private mutating func expect(_ keyword: String) throws {
    guard take(keyword) else { throw unreadable() }
  }

  private mutating func expectSymbol(_ symbol: String) throws {
    guard next?.isSymbol(symbol) ?? false else { throw unreadable() }
    place += 1
  }

  private static let longOperators = ["->>", "||", "<=", ">=", "<>", "!=", "==", "<<", ">>", "->"]

  /// The operator that stands next: as many characters as make one.
  private var nextOperator: String? {
    guard let next, next.kind == .symbol else { return nil }
    var run = next.text
    var end = next.range.upperBound
    for token in tokens[place...].dropFirst().prefix(2) {
      guard token.kind == .symbol, token.range.lowerBound == end else { break }
      run += token.text
      end = token.range.upperBound
    }
    return Self.longOperators.first(where: run.hasPrefix) ?? next.text
  }

  private mutating func takeOperator(of operators: Set<String>) -> String? {
    guard let found = nextOperator, operators.contains(found) else { return nil }
    place += found.count
    return found
  }

  // MARK: - Truth

  private mutating func disjunction() throws -> ExpressionValue {
    depth += 1
    defer { depth -= 1 }
    guard depth <= Self.maximumDepth else {
      throw UnsupportedExpression(
        "has more than \(Self.maximumDepth) parentheses in each other", "write it with fewer")
    }
    var value = try conjunction()
    while take("or") {
      _ = try conjunction()
      value = .truth
    }
    return value
  }

  private mutating func conjunction() throws -> ExpressionValue {
    var value = try negation()
    while take("and") {
      _ = try negation()
      value = .truth
    }
    return value
  }

  private mutating func negation() throws -> ExpressionValue {
    var isNegated = false
    while take("not") { isNegated = true }
    let value = try equality()
    return isNegated ? .truth : value
  }

  private mutating func equality() throws -> ExpressionValue {
    var left = try inequality()
    while try takeTest(of: left) { left = .truth }
    return left
  }

  /// Takes one comparison with what stands before it.
  private mutating func takeTest(of left: ExpressionValue) throws -> Bool {
    if takeOperator(of: ["=", "==", "<>", "!="]) != nil {
      try compare(left, try inequality())
      return true
    }
    if take("is") {
      _ = take("not")
      if take("distinct") { try expect("from") }
      try compare(left, try inequality())
      return true
    }
    return try take("isnull") || take("notnull") || takeWordedTest(of: left)
  }

  private mutating func takeWordedTest(of left: ExpressionValue) throws -> Bool {
    let isNegated = take("not")
    if take("in") {
      try list(comparedWith: left)
    } else if take("between") {
      try compare(left, try inequality())
      try expect("and")
      try compare(left, try inequality())
    } else if isNegated, take("null") {
      return true
    } else if let next, next.kind == .word,
      ["like", "glob", "regexp", "match"].contains(next.text.folded)
    {
      throw UnsupportedExpression(
        "uses \(next.text.uppercased()), which an app or a build can change",
        "compare with =, IN or CASE, or make the index a plain one")
    } else if isNegated {
      throw unreadable()
    } else {
      return false
    }
    return true
  }

  private mutating func list(comparedWith left: ExpressionValue) throws {
    try expectSymbol("(")
    if next?.isSymbol(")") ?? false {
      place += 1
      return
    }
    repeat {
      try compare(left, try disjunction().untyped)
    } while takeOperator(of: [","]) != nil
    try expectSymbol(")")
  }

  private mutating func inequality() throws -> ExpressionValue {
    var left = try bits()
    while takeOperator(of: ["<", "<=", ">", ">="]) != nil {
      try compare(left, try bits())
      left = .truth
    }
    return left
  }

  private func compare(_ left: ExpressionValue, _ right: ExpressionValue) throws {
    guard left.isConverted(with: right) else { return }
    let names = [left.column, right.column].compactMap { $0 }.map { "“\($0)”" }
    throw UnsupportedExpression(
      "compares \(names.joined(separator: " and ")) with a value of another type, which SQLite "
        + "converts first", column: left.column ?? right.column,
      "write the value in the column's type, as 0 for an INTEGER and '0' for a TEXT")
  }

  // MARK: - Numbers and texts

  private mutating func bits() throws -> ExpressionValue {
    try arithmetic(of: ["&", "|", "<<", ">>"]) { try $0.sum() }
  }

  private mutating func sum() throws -> ExpressionValue {
    try arithmetic(of: ["+", "-"]) { try $0.product() }
  }

  private mutating func product() throws -> ExpressionValue {
    try arithmetic(of: ["*", "/", "%"]) { try $0.concatenation() }
  }

  private mutating func arithmetic(
    of operators: Set<String>, _ operand: (inout Self) throws -> ExpressionValue
  ) throws -> ExpressionValue {
    var left = try operand(&self)
    while takeOperator(of: operators) != nil {
      try checkInteger(left)
      try checkInteger(try operand(&self))
      left = .truth
    }
    return left
  }

  private func checkInteger(_ value: ExpressionValue) throws {
    guard !value.kinds.isDisjoint(with: [.real, .digits]) else { return }
    throw UnsupportedExpression(
      "calculates with what need not be a whole number", column: value.column,
      "calculate with INTEGER columns and whole numbers, or put the value into a column of its own")
  }

  private mutating func concatenation() throws -> ExpressionValue {
    var left = try collated()
    while takeOperator(of: ["||"]) != nil {
      try checkText(left)
      try checkText(try collated())
      left = ExpressionValue(kinds: .anyText)
    }
    if let found = nextOperator, found.hasPrefix("->") {
      throw UnsupportedExpression(
        "uses \(found)", "put the value into a column of its own, or make the index a plain one")
    }
    return left
  }

  private func checkText(_ value: ExpressionValue) throws {
    guard value.kinds.contains(.real) else { return }
    throw UnsupportedExpression(
      "makes a text of a number that need not be whole, which not every SQLite writes alike",
      column: value.column, "declare the column TEXT or INTEGER, or make the index a plain one")
  }

  private mutating func collated() throws -> ExpressionValue {
    let value = try signed()
    while take("collate") {
      guard let next, next.kind != .symbol else { throw unreadable() }
      place += 1
      guard Self.allowedCollations.contains(next.name.folded) else {
        throw UnsupportedExpression.collation(next.name)
      }
      used.collations.insert(next.name.folded)
    }
    return value
  }

  private mutating func signed() throws -> ExpressionValue {
    var isCalculated = false
    while true {
      let sign = place
      var value: ExpressionValue?
      if takeOperator(of: ["-", "+"]) != nil {
        value = try takeNumber()
        if value == nil { place = sign }
      }
      if value == nil, takeOperator(of: ["-", "~"]) != nil {
        isCalculated = true
        continue
      }
      let found = try value ?? operand()
      if isCalculated { try checkInteger(found) }
      return isCalculated ? .truth : found
    }
  }

  // MARK: - Operands

  private mutating func operand() throws -> ExpressionValue {
    if let number = try takeNumber() { return number }
    guard let token = next else { throw unreadable() }
    if token.isSymbol("(") {
      place += 1
      let value = try disjunction()
      try expectSymbol(")")
      return value
    }
    guard token.kind != .symbol else { throw unreadable() }
    if token.text.first == "'" {
      place += 1
      var name = token.name
      let isNumber = name.withUTF8 { UnsafeRawBufferPointer($0).isNumber }
      return ExpressionValue(kinds: isNumber ? .digits : .text)
    }
    let following = place + 1 < tokens.endIndex ? tokens[place + 1] : nil
    if token.isWord("x"), let following, following.text.first == "'",
      following.range.lowerBound == token.range.upperBound
    {
      place += 2
      return ExpressionValue(kinds: .blob)
    }
    if take("case") { return try choice() }
    return try following?.isSymbol("(") ?? false ? call(token) : name(token)
  }

  private mutating func name(_ token: SQLText.Token) throws -> ExpressionValue {
    if take("null") { return ExpressionValue(kinds: []) }
    let reserved: Set = ["not", "exists", "select", "when", "then", "else", "distinct"]
    if token.kind == .word, reserved.contains(token.text.folded) { throw unreadable() }
    if let value = try column(token.name) {
      columns.append((token.range, token.name))
      place += 1
      return value
    }
    if take("true") || take("false") { return .truth }
    let isQuoted = token.text.first == "\""
    throw UnsupportedExpression(
      "names \(token.text), and the table has no such column",
      isQuoted
        ? "write a text in single quotes: '\(token.name)'"
        : "use what every device has and sees alike: columns, literals and functions of them")
  }

  private mutating func call(_ token: SQLText.Token) throws -> ExpressionValue {
    let name = token.name.folded
    guard let count = Self.allowedFunctions[name] else {
      let known = Self.allowedFunctions.keys.sorted().joined(separator: ", ")
      throw UnsupportedExpression(
        "uses \(token.name)(), and not every device need have the same",
        "use \(known), put the value into a column of its own, or make the index a plain one")
    }
    place += 2
    used.functions.insert(name)
    var values: [ExpressionValue] = []
    if !(next?.isSymbol(")") ?? false) {
      repeat { values.append(try disjunction()) } while takeOperator(of: [","]) != nil
    }
    try expectSymbol(")")
    guard count.contains(values.count) else { throw unreadable() }
    switch name {
    case "coalesce", "ifnull": return Self.either(values)
    case "nullif": return values[0].untyped
    case "substr":
      try values.dropFirst().forEach(checkInteger)
      try checkText(values[0])
      return ExpressionValue(kinds: [.anyText, .blob])
    default:
      try values.forEach(checkText)
      return ExpressionValue(kinds: name == "length" ? .integer : .anyText)
    }
  }

  private static func either(_ values: [ExpressionValue]) -> ExpressionValue {
    ExpressionValue(
      kinds: values.reduce([]) { $0.union($1.kinds) }, column: values.compactMap(\.column).first)
  }

  private mutating func choice() throws -> ExpressionValue {
    let base = next?.isWord("when") ?? true ? nil : try disjunction()
    var values: [ExpressionValue] = []
    while take("when") {
      let condition = try disjunction()
      if let base { try compare(base, condition) }
      try expect("then")
      values.append(try disjunction())
    }
    if values.isEmpty { throw unreadable() }
    if take("else") { values.append(try disjunction()) }
    try expect("end")
    return Self.either(values)
  }

  /// A number has no sign, and may have a point, of which ``SQLText`` makes a token.
  private mutating func takeNumber() throws -> ExpressionValue? {
    guard let next else { return nil }
    let start = next.range.lowerBound
    let digits = text.bytes[start...].drop { $0 == UInt8(ascii: ".") }
    guard digits.startIndex - start <= 1, let first = digits.first,
      (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first)
    else { return nil }
    var literal = ""
    while place < tokens.endIndex, tokens[place].range.lowerBound == start + literal.utf8.count {
      let token = tokens[place]
      let isExponent =
        !literal.folded.hasPrefix("0x") && literal.folded.hasSuffix("e")
        && (token.isSymbol("+") || token.isSymbol("-"))
      guard token.kind == .word || token.isSymbol(".") || isExponent else { break }
      literal += token.text
      place += 1
    }
    if literal.folded.hasPrefix("0x") { return .truth }
    let isWhole = Int64(literal.filter { $0 != "_" }) != nil
    return ExpressionValue(kinds: isWhole ? .integer : .real)
  }
}

extension UnsupportedExpression {
  static func collation(_ name: String, column: String? = nil) -> UnsupportedExpression {
    UnsupportedExpression(
      "compares by the collation \(name), and not every device need have the same", column: column,
      "use BINARY, NOCASE or RTRIM, or make the index a plain one")
  }
}
