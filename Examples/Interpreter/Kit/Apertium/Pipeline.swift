import Dispatch
import ExampleService
import Foundation

/// The programs of one direction, kept running: a text that ends with a zero byte goes in, and one
/// that does comes out. Starting them takes a thousand times as long as a sentence does.
final class Pipeline: Sendable {
  let pair: ApertiumPair
  private let queue: DispatchQueue
  /// Of the queue's alone.
  private nonisolated(unsafe) var running: Spawned?
  private nonisolated(unsafe) var started = 0

  /// In which a text has to be through.
  private static let milliseconds: Int32 = 30_000

  /// Writing to programs that have died is an error like any other.
  private static let ignoresBrokenPipes: Void = { _ = signal(SIGPIPE, SIG_IGN) }()

  init(_ pair: ApertiumPair) {
    self.pair = pair
    queue = DispatchQueue(label: "apertium.\(pair.name)")
  }

  deinit { if let running { Self.end(running) } }

  /// One text after the other. Programs that died in between are started again.
  ///
  /// - Throws: ``ApertiumError``.
  func pass(_ stream: String) async throws -> String {
    try await withCheckedThrowingContinuation { continuation in
      queue.async { continuation.resume(with: Result { try self.exchange(stream) }) }
    }
  }

  /// How often they were started, and the id of their group.
  var standing: (started: Int, id: pid_t?) { queue.sync { (started, running?.id) } }

  private func exchange(_ stream: String) throws -> String {
    _ = Self.ignoresBrokenPipes
    let bytes = Array(stream.utf8) + [0]
    // Whether programs have died meanwhile is seen as they are used.
    let isFresh = running == nil
    do {
      return try transfer(bytes, try programs())
    } catch let error as ApertiumError {
      guard error.code == .broken, !isFresh else { throw error }
      return try transfer(bytes, try programs())
    }
  }

  private func programs() throws -> Spawned {
    if let running { return running }
    let command = try pair.command()
    do throws(SpawnError) {
      let new = try Spawned(
        "/bin/sh", ["-c", command], environment: ["LC_ALL": "C.UTF-8"], hasInput: true)
      _ = fcntl(new.input!, F_SETFL, O_NONBLOCK)
      (running, started) = (new, started + 1)
      return new
    } catch {
      throw ApertiumError(.broken, "Apertium can't be started: \(error)")
    }
  }

  /// Writes and reads by turns: a long text comes out before it has gone in.
  private func transfer(_ bytes: [UInt8], _ programs: Spawned) throws -> String {
    var (written, result) = (0, [UInt8]())
    var chunk = [UInt8](repeating: 0, count: 65536)
    while true {
      var ends = [pollfd(fd: programs.output, events: Int16(POLLIN), revents: 0)]
      if written < bytes.count {
        ends.append(pollfd(fd: programs.input!, events: Int16(POLLOUT), revents: 0))
      }
      guard poll(&ends, nfds_t(ends.count), Self.milliseconds) > 0 else {
        throw broken("took over \(Self.milliseconds / 1000) seconds")
      }
      if ends.count > 1, ends[1].revents != 0 {
        let count = bytes[written...].withUnsafeBytes {
          write(programs.input!, $0.baseAddress, $0.count)
        }
        guard count > 0 || errno == EAGAIN else { throw broken("has died") }
        written += max(count, 0)
      }
      guard ends[0].revents != 0 else { continue }
      let count = read(programs.output, &chunk, chunk.count)
      guard count > 0 else { throw broken("has died") }
      result += chunk[..<count]
      if result.last == 0 { return String(decoding: result.dropLast(), as: UTF8.self) }
    }
  }

  private func broken(_ reason: String) -> ApertiumError {
    if let running { Self.end(running) }
    running = nil
    return ApertiumError(.broken, "Apertium \(reason)")
  }

  private static func end(_ programs: Spawned) {
    close(programs.input!)
    close(programs.output)
    kill(-programs.id, SIGKILL)
    var status: CInt = 0
    while waitpid(programs.id, &status, 0) < 0, errno == EINTR {}
  }
}
