import Foundation
import Synchronization

/// A program of the system that was started, and what it prints. It gets nothing that a terminal
/// says: a Ctrl-C is for the program that waits for it, and would look like its failure here.
///
/// Foundation's `Process` learns of an exit through a run loop, which threads of a pool lack.
package struct Spawned: Sendable {
  /// Of the process, and of its group.
  package let id: pid_t
  /// To be closed by the caller, as is ``input``.
  package let output: CInt
  /// Its standard input, where that is not `/dev/null`.
  package let input: CInt?

  /// Variables that no program gets.
  private static let secrets: Set = ["GEMINI_API_KEY", "INTERPRETER_KEY", "TERN_TOKEN"]

  /// One at a time, or a child would inherit another's pipe before it is marked, and keep it open.
  private static let starting = Mutex(())

  /// - Parameters:
  ///   - environment: added to this process's own.
  ///   - complaints: whether what it complains about is a part of what it prints.
  ///   - hasInput: whether it is to be written to.
  /// - Throws: ``SpawnError``.
  package init(
    _ path: String, _ arguments: [String], environment: [String: String] = [:],
    complaints: Bool = false, hasInput: Bool = false
  ) throws(SpawnError) {
    let started = Self.starting.withLock { _ in
      Result { () throws(SpawnError) in
        try Self.start(path, arguments, environment, complaints, hasInput)
      }
    }
    (id, output, input) = try started.get()
  }

  private static func start(
    _ path: String, _ arguments: [String], _ environment: [String: String], _ complaints: Bool,
    _ hasInput: Bool
  ) throws(SpawnError) -> (pid_t, CInt, CInt?) {
    let printed = try ends()
    let given: (read: CInt, write: CInt)?
    do throws(SpawnError) {
      given = hasInput ? try ends() : nil
    } catch {
      for end in [printed.read, printed.write] { close(end) }
      throw error
    }
    #if os(Linux)
    var actions = posix_spawn_file_actions_t()
    var attributes = posix_spawnattr_t()
    #else
    var actions: posix_spawn_file_actions_t?
    var attributes: posix_spawnattr_t?
    #endif
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // 0 is a group of its own. What this process ignores, the child is to die of.
    posix_spawnattr_setpgroup(&attributes, 0)
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGPIPE)
    posix_spawnattr_setsigdefault(&attributes, &signals)
    // Nor does it block what this thread blocks: it is ended by SIGTERM.
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    posix_spawnattr_setflags(
      &attributes,
      CShort(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
    if let given {
      posix_spawn_file_actions_adddup2(&actions, given.read, STDIN_FILENO)
    } else {
      posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    }
    posix_spawn_file_actions_adddup2(&actions, printed.write, STDOUT_FILENO)
    if complaints {
      posix_spawn_file_actions_adddup2(&actions, printed.write, STDERR_FILENO)
    } else {
      posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
    }
    #if canImport(Glibc)
    // What this process listens on would go on listening in the child, with nobody to answer.
    _ = closeFrom(&actions, 3)
    #endif
    var words = ([path] + arguments).map { strdup($0) } + [nil]
    // What is secret here is no business of a program of the system.
    let own = ProcessInfo.processInfo.environment.filter { !secrets.contains($0.key) }
    let all = own.merging(environment) { $1 }
    var variables = all.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { for word in words + variables { free(word) } }
    var id: pid_t = 0
    let code = posix_spawn(&id, path, &actions, &attributes, &words, &variables)
    close(printed.write)
    if let given { close(given.read) }
    guard code == 0 else {
      close(printed.read)
      if let given { close(given.write) }
      throw SpawnError(code: code)
    }
    return (id, printed.read, given?.write)
  }

  private static func ends() throws(SpawnError) -> (read: CInt, write: CInt) {
    var ends: [CInt] = [0, 0]
    guard pipe(&ends) == 0 else { throw SpawnError(code: errno) }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }
}

/// Why a program could not be started, in the system's words.
package struct SpawnError: Error, Hashable, CustomStringConvertible {
  let code: CInt

  package var description: String { String(cString: strerror(code)) }
}

#if canImport(Glibc)
/// The C header shows it to GNU sources only.
@_silgen_name("posix_spawn_file_actions_addclosefrom_np")
private func closeFrom(
  _ actions: UnsafeMutablePointer<posix_spawn_file_actions_t>, _ first: CInt
) -> CInt
#endif
