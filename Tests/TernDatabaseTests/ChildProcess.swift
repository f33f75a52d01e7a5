#if os(Linux) || os(macOS)
import Foundation

/// A process whose standard output is read. Foundation's `Process` learns of an exit through a run
/// loop, which on Linux did not always hear of it when two threads started processes.
struct ChildProcess {
  private let id: pid_t
  private let output: CInt

  init(_ executable: String, arguments: [String]) throws {
    var ends: [CInt] = [0, 0]
    guard pipe(&ends) == 0 else { throw POSIXError(.EMFILE) }
    defer { close(ends[1]) }
    // Closed in all children: a copy of the other end would keep a dead writer's output open.
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }

    #if os(Linux)
    var actions = posix_spawn_file_actions_t()
    #else
    var actions: posix_spawn_file_actions_t?
    #endif
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)

    var words = ([executable] + arguments).map { strdup($0) } + [nil]
    var environment =
      ProcessInfo.processInfo.environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { for word in words + environment { free(word) } }
    var id: pid_t = 0
    let code = posix_spawn(&id, executable, &actions, nil, &words, &environment)
    guard code == 0 else {
      close(ends[0])
      throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EINVAL)
    }
    self.id = id
    output = ends[0]
  }

  func kill() {
    _ = Foundation.kill(id, SIGKILL)
  }

  /// What it has written since, waiting for something; `nil` once it is dead and all is read.
  func read() -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = Foundation.read(output, &bytes, bytes.count)
    return count > 0 ? Array(bytes.prefix(count)) : nil
  }

  /// The signal that ended it, or its exit status. To be called once.
  func wait() -> CInt {
    close(output)
    var status: CInt = 0
    while waitpid(id, &status, 0) < 0, errno == EINTR {}
    let signal = status & 0x7f
    return signal != 0 ? signal : (status >> 8) & 0xff
  }
}
#endif
