#if os(Linux) || os(macOS)
import Foundation
import Synchronization

/// A process whose standard output is read, and whose standard input is open until ``endInput()``.
/// Foundation's `Process` learns of an exit through a run loop, which on Linux did not always hear
/// of it when two threads started processes.
package struct ChildProcess: Sendable {
  package let id: pid_t
  /// What it prints, to be polled.
  package let output: CInt
  /// To be written to.
  package let input: CInt

  /// So that no child inherits the ends of another's pipes, which are open for a moment.
  private static let starting = Mutex(())

  /// - Parameter environment: added to this process's own.
  package init(_ executable: String, arguments: [String], environment: [String: String] = [:])
    throws
  {
    let all = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    self = try Self.starting.withLock { _ in
      try ChildProcess(starting: executable, arguments, all)
    }
  }

  private init(
    starting executable: String, _ arguments: [String], _ environment: [String: String]
  ) throws {
    var input: [CInt] = [0, 0]
    var output: [CInt] = [0, 0]
    guard pipe(&input) == 0 else { throw POSIXError(.EMFILE) }
    guard pipe(&output) == 0 else {
      for end in input { close(end) }
      throw POSIXError(.EMFILE)
    }
    defer {
      close(input[0])
      close(output[1])
    }
    // Closed in all children: a copy of the other end would keep a dead writer's output open.
    for end in input + output { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }

    #if os(Linux)
    var actions = posix_spawn_file_actions_t()
    #else
    var actions: posix_spawn_file_actions_t?
    #endif
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, input[0], STDIN_FILENO)
    posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO)

    #if os(Linux)
    var attributes = posix_spawnattr_t()
    #else
    var attributes: posix_spawnattr_t?
    #endif
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // A shell that starts the tests in the background has SIGINT ignored, which children inherit.
    var usual = sigset_t()
    sigemptyset(&usual)
    for signal in [SIGINT, SIGQUIT, SIGTERM, SIGHUP] { sigaddset(&usual, signal) }
    posix_spawnattr_setsigdefault(&attributes, &usual)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))

    var words = ([executable] + arguments).map { strdup($0) } + [nil]
    var variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { for word in words + variables { free(word) } }
    var id: pid_t = 0
    let code = posix_spawn(&id, executable, &actions, &attributes, &words, &variables)
    guard code == 0 else {
      close(input[1])
      close(output[0])
      throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EINVAL)
    }
    self.id = id
    (self.input, self.output) = (input[1], output[0])
  }

  package func kill(_ signal: CInt = SIGKILL) {
    _ = Foundation.kill(id, signal)
  }

  /// Lets it read the end of its standard input. To be called once, before ``wait()``.
  package func endInput() {
    close(input)
  }

  /// What it has written since, waiting for something; `nil` once it is dead and all is read.
  package func read() -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = Foundation.read(output, &bytes, bytes.count)
    return count > 0 ? Array(bytes.prefix(count)) : nil
  }

  /// The signal that ended it, or its exit status. To be called once, after ``endInput()``.
  package func wait() -> CInt {
    close(output)
    var status: CInt = 0
    while waitpid(id, &status, 0) < 0, errno == EINTR {}
    let signal = status & 0x7f
    return signal != 0 ? signal : (status >> 8) & 0xff
  }
}
#endif
