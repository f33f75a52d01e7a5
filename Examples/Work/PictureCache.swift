import ExamplePages
import Foundation
import TernNetwork

/// Pictures from elsewhere, as files of a folder. Once they are more than a limit, those go that
/// nobody has asked for the longest. What is in it can be fetched again: it may be deleted.
package actor PictureCache {
  package static let limitBytes = 50_000_000
  private static let mostPictureBytes = 4 << 20

  private let folder: URL
  private let limitBytes: Int
  private let allowsLoopback: Bool
  private let transport: any HTTPTransport
  /// `nil` until it is looked, and after each picture that comes.
  private var used: Int?

  /// - Parameters:
  ///   - folder: made with the first picture.
  ///   - allowsLoopback: whether pictures may come from a service of this machine, without TLS.
  package init(
    _ folder: String, limitBytes: Int = PictureCache.limitBytes, allowsLoopback: Bool = false,
    transport: any HTTPTransport = SystemTransport.shared
  ) {
    self.folder = URL(filePath: folder, directoryHint: .isDirectory)
    (self.limitBytes, self.allowsLoopback) = (limitBytes, allowsLoopback)
    self.transport = transport
  }

  /// The picture at an address; empty where there is none, and a failure that passes where it can't
  /// be fetched now.
  package func answer(_ address: String) async -> PageAnswer {
    do {
      let picture = try await picture(at: address)
      return PageAnswer(picture ?? Data(), type: picture.flatMap(Self.type(of:)) ?? "image/jpeg")
    } catch {
      return .failure("later", "The picture can't be fetched now: \(error)", passes: true)
    }
  }

  /// - Returns: `nil` where there is none, or one that is too large, or no picture.
  /// - Throws: ``HTTPError``, `CancellationError`: another time it may be there.
  package func picture(at address: String) async throws -> Data? {
    guard let file = file(of: address) else { return nil }
    // One that isn't there, or is damaged, is fetched.
    if let kept = try? Data(contentsOf: file), Self.type(of: kept) != nil {
      // Only the order in which they go depends on it.
      try? FileManager.default.setAttributes([.modificationDate: Date()], ofItemAtPath: file.path)
      return kept
    }
    let response = try await transport.send(
      HTTPRequest(.get, address, timeout: .seconds(30), idleTimeout: .seconds(10)))
    guard response.status == 200 else {
      let passes = response.status >= 500 || [408, 425, 429].contains(response.status)
      if passes { throw HTTPError(.unexpectedBody, origin: nil, "status \(response.status)") }
      return nil
    }
    let picture: Data
    do {
      picture = Data(try await response.collect(limit: Self.mostPictureBytes))
    } catch let error as HTTPError where error.code == .bodyTooLarge {
      return nil
    }
    guard Self.type(of: picture) != nil else { return nil }
    keep(picture, in: file)
    return picture
  }

  package var usedBytes: Int {
    let bytes = used ?? files().reduce(0) { $0 + $1.bytes }
    used = bytes
    return bytes
  }

  package func clear() throws {
    for file in files() { try FileManager.default.removeItem(at: file.url) }
    used = 0
  }

  // MARK: - Files

  private func keep(_ picture: Data, in file: URL) {
    do {
      try FileManager.default.createDirectory(
        at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
      try picture.write(to: file, options: .atomic)
    } catch {
      // Without room it is fetched each time.
      return
    }
    used = nil
    guard usedBytes > limitBytes else { return }
    var left = usedBytes
    for file in files().sorted(by: { $0.date < $1.date }) where left > limitBytes {
      // What can't be removed is counted again by whoever looks next.
      try? FileManager.default.removeItem(at: file.url)
      left -= file.bytes
    }
    used = nil
  }

  private func files() -> [(url: URL, bytes: Int, date: Date)] {
    let keys: Set<URLResourceKey> = [.fileSizeKey, .contentModificationDateKey]
    // There is no folder before the first picture.
    let urls = try? FileManager.default.contentsOfDirectory(
      at: folder, includingPropertiesForKeys: Array(keys))
    return (urls ?? []).compactMap { url in
      // One that has just gone.
      guard let values = try? url.resourceValues(forKeys: keys) else { return nil }
      return (url, values.fileSize ?? 0, values.contentModificationDate ?? .distantPast)
    }
  }

  /// - Returns: `nil` for an address from which no picture is fetched: a service that lies could
  ///   otherwise have this machine ask in its own network, or read its files.
  private func file(of address: String) -> URL? {
    guard let url = URL(string: address), let host = url.host(), !host.isEmpty else { return nil }
    let isLoopback = allowsLoopback && url.scheme == "http" && host == "127.0.0.1"
    guard url.scheme == "https" || isLoopback else { return nil }
    let name = Data(address.utf8).base64EncodedString().replacing("/", with: "_")
    // As long as a file's name may be.
    return name.utf8.count <= 255 ? folder.appending(path: name) : nil
  }

  /// By how they begin; an SVG is a page with scripts, and none of them.
  private static func type(of picture: Data) -> String? {
    switch picture.prefix(12) {
    case let head where head.starts(with: [0xFF, 0xD8, 0xFF]): "image/jpeg"
    case let head where head.starts(with: [0x89, 0x50, 0x4E, 0x47]): "image/png"
    case let head where head.starts(with: Data("GIF8".utf8)): "image/gif"
    case let head where head.starts(with: Data("RIFF".utf8)) && head.suffix(4) == Data("WEBP".utf8):
      "image/webp"
    default: nil
    }
  }
}
