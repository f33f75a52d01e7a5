import ExampleService
import Foundation

/// `espeak-ng`, which speaks on this machine where it is installed.
actor Speaker {
  static let program = (ProcessInfo.processInfo.environment["PATH"] ?? "")
    .split(separator: ":").map { "\($0)/espeak-ng" }
    .first { FileManager.default.isExecutableFile(atPath: $0) }

  static var isInstalled: Bool { program != nil }

  private var current: pid_t?

  /// Speaks a text to its end, or until another one or ``stop()``.
  ///
  /// - Parameter rate: how fast, of which 1 is as usual.
  /// - Returns: whether it went well; where it is not installed, nothing is heard.
  @discardableResult
  func speak(_ text: String, in language: String, rate: Double = 1) async -> Bool {
    stop()
    guard let program = Self.program else { return false }
    // In words a minute.
    let speed = rate == 1 ? [] : ["-s", "\(Int((175 * rate).rounded()))"]
    let spoken: Spawned
    do {
      spoken = try Spawned(program, ["-v", language] + speed + ["--", text])
    } catch {
      return false
    }
    close(spoken.output)
    current = spoken.id
    let status = await Self.end(of: spoken.id)
    // It was stopped.
    guard current == spoken.id else { return true }
    current = nil
    return status == 0
  }

  func stop() {
    if let current { kill(-current, SIGTERM) }
    current = nil
  }

  /// How a text is pronounced, in the letters of the International Phonetic Alphabet.
  ///
  /// - Returns: `nil` where it is not installed, or does not know the language.
  static func pronunciation(of text: String, in language: String) async -> String? {
    guard let program else { return nil }
    return await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        // Where it can't be started, there is none.
        guard let spoken = try? Spawned(program, ["-q", "--ipa", "-v", language, "--", text])
        else { return continuation.resume(returning: nil) }
        let file = FileHandle(fileDescriptor: spoken.output, closeOnDealloc: true)
        // What can't be read is nothing to show.
        let said = (try? file.readToEnd()) ?? Data()
        let isSaid = wait(for: spoken.id) == 0
        let text = String(decoding: said, as: UTF8.self)
          .trimmingCharacters(in: .whitespacesAndNewlines)
        continuation.resume(returning: isSaid && !text.isEmpty ? text : nil)
      }
    }
  }

  private static func end(of id: pid_t) async -> CInt {
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async { continuation.resume(returning: wait(for: id)) }
    }
  }

  /// On a thread that may wait.
  static func wait(for id: pid_t) -> CInt {
    var status: CInt = 0
    while waitpid(id, &status, 0) < 0, errno == EINTR {}
    return status
  }
}
