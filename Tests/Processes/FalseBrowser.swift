#if os(Linux)
import Foundation
import Synchronization

/// A command in place of `xdg-open`, which says what address it was to open.
package struct FalseBrowser: Sendable {
  private let folder: String
  private let pipe: CInt

  /// - Parameter folder: where it goes; a new folder.
  package init(in folder: String) throws {
    self.folder = folder
    let command = folder + "/xdg-open"
    try Data(#"#!/bin/sh\#necho "$1" >"$0.address"\#n"#.utf8).write(to: URL(filePath: command))
    guard chmod(command, 0o755) == 0, mkfifo(command + ".address", 0o600) == 0 else {
      throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
    }
    // Open for both, so that neither end waits for the other.
    pipe = open(command + ".address", O_RDWR)
  }

  package func remove() { close(pipe) }

  /// Runs a program that serves a page until it has said the page's address, and has opened it
  /// where it is to do so; then ends it.
  ///
  /// - Parameter display: the screen that it is told of, or "" for none.
  /// - Returns: the address that it said, and the one that it opened within a minute.
  package func watch(
    _ command: [String], display: String, opens: Bool
  ) async throws -> (said: String, opened: String?) {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    let variables = [
      "env", "-u", "WAYLAND_DISPLAY", "-u", "DISPLAY", "PATH=\(folder):\(path)",
    ]
    let screen = display.isEmpty ? [] : ["DISPLAY=\(display)"]
    let seen = Mutex<(said: String, opened: String?)>(("", nil))
    let ended = try await run(variables + screen + command) { output, process in
      // A page's address has a token, which the services that a program starts have not.
      guard let address = output.firstMatch(of: /(http:\S+#\S+)\s/) else { return }
      seen.withLock { seen in
        guard seen.said.isEmpty else { return }
        seen.said = String(address.1)
        if opens { seen.opened = read(waiting: 60_000) }
        process.kill(SIGTERM)
      }
    }
    let (said, opened) = seen.withLock { $0 }
    // What a program has said without an address is why it had none.
    return (said.isEmpty ? ended.output : said, opened ?? read(waiting: 0))
  }

  private func read(waiting milliseconds: CInt) -> String? {
    var polled = pollfd(fd: pipe, events: Int16(POLLIN), revents: 0)
    guard poll(&polled, 1, milliseconds) > 0 else { return nil }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = Foundation.read(pipe, &bytes, bytes.count)
    return String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
      .trimmingCharacters(in: .newlines)
  }
}
#endif
