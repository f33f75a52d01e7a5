/// Why a round could not be made, or what came of it that must not.
struct ScanCrashFailure: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
