#if Server
import Foundation
import TernCore

/// Who may change spaces and tokens over HTTP: a file that has a line for each operator's token, by
/// its digest.
///
/// ```text
/// # Anna's, and one of the billing system
/// anna sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
/// billing sha256:2c26b46b68ffc68ff99b453c1d3041…e886266e7ae 2030-01-31T00:00:00Z
/// ```
///
/// It is read for each request, so that a line that is taken out allows nothing from then on. While
/// the file can't be read as a whole, nobody is let in.
public struct OperatorTokens: Sendable {
  public let path: String

  static let digestPrefix = "sha256:"
  /// Some thousand lines.
  private static let mostBytes = 1 << 20

  struct Entry: Hashable {
    var name: OperatorName
    var expires: Date?
  }

  /// - Parameter path: the file, which only its owner may read or write: this process's user, or
  ///   root. A symbolic link is followed.
  /// - Throws: ``OperatorTokensError``.
  public init(path: String) throws {
    self.path = path
    _ = try entries()
  }

  /// Whose a token is.
  ///
  /// - Throws: ``OperatorTokensError`` where nobody knows; ``RemoteError`` with `unauthorized`.
  func name(of token: String?, _ clock: ServerClock) throws -> OperatorName {
    let unknown = RemoteError(
      .unauthorized,
      "the operator's token is missing or unknown; make one with 'tern operator create' and send it "
        + "as 'Authorization: Bearer …'")
    // What begins otherwise is a device's, whatever the file says.
    guard let token, token.hasPrefix(OperatorToken.prefix) else { throw unknown }
    // Looked up by digest, which tells nothing by its timing; see `TokenDigest`.
    guard let entry = try entries()[TokenDigest(token: token).bytes.hexadecimal] else {
      throw unknown
    }
    if let expires = entry.expires, clock.hasPassed(expires) {
      throw RemoteError(
        .unauthorized,
        "the operator's token expired at \(expires.ISO8601Format()); make a new one with 'tern "
          + "operator create'")
    }
    return entry.name
  }

  /// By the hexadecimal digits of their digests.
  private func entries() throws -> [String: Entry] {
    let text = String(decoding: try read(), as: UTF8.self)
    var entries: [String: Entry] = [:]
    let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    for (number, line) in lines.enumerated() {
      let words = line.split(whereSeparator: \.isWhitespace)
      guard let first = words.first, !first.hasPrefix("#") else { continue }
      guard let (digest, entry) = Self.entry(words),
        entries.updateValue(entry, forKey: digest) == nil
      else {
        throw OperatorTokensError(
          "\(path), line \(number + 1): write a line as 'tern operator create' prints it, NAME "
            + "sha256:DIGEST and, if you like, a time as 2030-01-31T00:00:00Z, and each digest once"
        )
      }
    }
    return entries
  }

  private static func entry(_ words: [Substring]) -> (String, Entry)? {
    guard (2...3).contains(words.count), words[1].hasPrefix(digestPrefix) else { return nil }
    let digest = words[1].dropFirst(digestPrefix.count).lowercased()
    guard digest.utf8.count == 64, digest.allSatisfy(\.isHexDigit) else { return nil }
    // What it throws is that it is no name, or no time.
    guard let name = try? OperatorName(words[0]) else { return nil }
    guard words.count == 3 else { return (digest, Entry(name: name)) }
    // The same.
    guard let end = try? Date.ISO8601FormatStyle().parse(String(words[2])) else { return nil }
    return (digest, Entry(name: name, expires: end))
  }

  /// Looks at the file that it has open, so that none can be put in its place in between.
  private func read() throws -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      throw OperatorTokensError(
        "\(path) can't be read (\(String(cString: strerror(errno)))); put it back, empty to let "
          + "nobody in")
    }
    let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
      status.st_size <= Self.mostBytes
    else {
      throw OperatorTokensError("\(path) is no file of at most \(Self.mostBytes) bytes")
    }
    guard status.st_mode & 0o077 == 0, [0, geteuid()].contains(status.st_uid) else {
      throw OperatorTokensError(
        "\(path) lets others on this machine decide who is an operator; make the server's user its "
          + "owner, and run chmod 600 on it")
    }
    return Array(try file.read(upToCount: Self.mostBytes) ?? Data())
  }
}

/// Why nobody knows who is an operator.
public struct OperatorTokensError: Error, Hashable, Sendable {
  public let message: String

  init(_ message: String) { self.message = message }
}

extension OperatorTokensError: CustomStringConvertible {
  public var description: String { "the operators' tokens: \(message)" }
}

extension OperatorTokensError: LocalizedError {
  public var errorDescription: String? { description }
}
#endif
