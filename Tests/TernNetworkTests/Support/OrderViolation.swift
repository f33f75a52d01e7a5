/// What must not happen did, in some order of what can happen.
struct OrderViolation: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }

  static func require(_ condition: Bool, _ description: @autoclosure () -> String) throws {
    if !condition { throw OrderViolation(description()) }
  }
}
