import Foundation
import Synchronization

/// A program of the system that does a part of the work.
package struct Tool: Sendable {
  var name: String
  /// Debian's package with it.
  var package: String

  static let tesseract = Tool(name: "tesseract", package: "tesseract-ocr")
  static let zbarimg = Tool(name: "zbarimg", package: "zbar-tools")
  package static let graphicsMagick = Tool(name: "gm", package: "graphicsmagick")

  /// Where it is; `nil` when no folder of `PATH` has it.
  var path: String? {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    return folders.map { "\($0)/\(name)" }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
  }

  /// One at a time, or a tool would inherit the other's pipe before it is marked, and keep it open.
  private static let starting = Mutex(())

  /// What it prints, and the exit status. Blocks its thread.
  ///
  /// - Parameters:
  ///   - seconds: after these it is ended, and the call fails.
  ///   - complaints: whether what it complains about is a part of what it prints.
  /// - Throws: ``ToolError`` when it can't be started, is ended by a signal or takes too long.
  func run(
    _ arguments: [String], seconds: Int = 60, complaints: Bool = false, _ child: RunningTool? = nil
  ) throws -> (output: [UInt8], status: CInt) {
    guard let path else {
      throw ToolError(
        tool: name, reason: "is not installed: apt-get install \(package)", isMissing: true)
    }
    let (id, output) = try Self.starting.withLock { _ in
      try start(path, arguments, complaints: complaints)
    }
    defer { close(output) }
    child?.begin(id)
    let end = ContinuousClock.now + .seconds(seconds)
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65536)
    var isLate = false
    while !isLate {
      var waiting = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
      let left = (end - .now).components.seconds
      guard left >= 0 else {
        isLate = true
        break
      }
      guard poll(&waiting, 1, CInt(left + 1) * 1000) > 0 else { continue }
      let count = read(output, &chunk, chunk.count)
      guard count > 0 else { break }
      bytes += chunk[..<count]
    }
    if isLate { kill(id, SIGKILL) }
    child?.forget()
    var status: CInt = 0
    while waitpid(id, &status, 0) < 0, errno == EINTR {}
    guard !isLate else { throw ToolError(tool: name, reason: "took over \(seconds) seconds") }
    guard status & 0x7f == 0 else { throw ToolError(tool: name, reason: "was ended by a signal") }
    return (bytes, (status >> 8) & 0xff)
  }

  /// Foundation's `Process` learns of an exit through a run loop, which threads of a pool lack.
  ///
  /// The tool gets nothing that a terminal says: a Ctrl-C is for the program that waits for it, and
  /// would look like a failure of the photo here.
  private func start(
    _ path: String, _ arguments: [String], complaints: Bool
  ) throws -> (pid_t, CInt) {
    var ends: [CInt] = [0, 0]
    guard pipe(&ends) == 0 else { throw POSIXError(.EMFILE) }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    #if os(Linux)
    var actions = posix_spawn_file_actions_t()
    var attributes = posix_spawnattr_t()
    #else
    var actions: posix_spawn_file_actions_t?
    var attributes: posix_spawnattr_t?
    #endif
    defer { close(ends[1]) }
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // 0 is a group of its own.
    posix_spawnattr_setpgroup(&attributes, 0)
    posix_spawnattr_setflags(&attributes, CShort(POSIX_SPAWN_SETPGROUP))
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
    if complaints {
      posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO)
    } else {
      posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
    }
    var words = ([path] + arguments).map { strdup($0) } + [nil]
    // Photos are read side by side instead; more threads for one cost more than they bring.
    var environment = ProcessInfo.processInfo.environment
    environment["OMP_THREAD_LIMIT"] = "1"
    var variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { for word in words + variables { free(word) } }
    var id: pid_t = 0
    let code = posix_spawn(&id, path, &actions, &attributes, &words, &variables)
    guard code == 0 else {
      close(ends[0])
      throw ToolError(tool: name, reason: String(cString: strerror(code)))
    }
    return (id, ends[0])
  }
}

/// Why a tool did not do its part.
package struct ToolError: Error, Hashable, Sendable, CustomStringConvertible {
  var tool: String
  var reason: String
  /// Whether it has to be installed first.
  package var isMissing = false

  package var description: String { "\(tool) \(reason)" }
}
