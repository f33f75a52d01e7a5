import Foundation

/// Where a command takes the token of a Tern server from.
package enum ServerToken {
  /// The token in `TERN_TOKEN`, unless a file or, with a warning, the command line has one.
  ///
  /// - Returns: `nil` where there is none.
  /// - Throws: ``Refusal`` for a file that can't be read or has no token.
  package static func find(_ argument: String?, file: String?) throws -> String? {
    if let argument {
      let warning =
        "Warning: while a command starts, a list of processes shows its --token to everybody on "
        + "this machine; use TERN_TOKEN or --token-file"
      // Where it can't be said, the command still does what it is for.
      try? FileHandle.standardError.write(contentsOf: Data("\(warning)\n".utf8))
      return argument
    }
    guard let file else { return ProcessInfo.processInfo.environment["TERN_TOKEN"] }
    guard let text = try? String(contentsOfFile: file, encoding: .utf8) else {
      throw Refusal("\(file.shown()) can't be read; --token-file names a file that holds a token")
    }
    let token = text.trimmingCharacters(in: .whitespacesAndNewlines)
    guard !token.isEmpty else { throw Refusal("\(file.shown()) is empty; put a token into it") }
    return token
  }
}
