import Foundation

/// A program of the system that does a part of the work.
package struct Tool: Sendable {
  package let name: String
  /// Debian's package with it.
  package let package: String

  package init(name: String, package: String) { (self.name, self.package) = (name, package) }

  /// Where it is; `nil` when no folder of `PATH` has it.
  package var path: String? {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    return folders.map { "\($0)/\(name)" }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
  }

  /// What it prints, and the exit status. Blocks its thread.
  ///
  /// - Parameters:
  ///   - seconds: after these it is ended, and the call fails.
  ///   - complaints: whether what it complains about is a part of what it prints.
  /// - Throws: ``ToolError`` when it can't be started, is ended by a signal or takes too long.
  package func run(
    _ arguments: [String], seconds: Int = 60, complaints: Bool = false, _ child: RunningTool? = nil
  ) throws -> (output: [UInt8], status: CInt) {
    guard let path else {
      throw ToolError(
        tool: name, reason: "is not installed: apt-get install \(package)", isMissing: true)
    }
    let spawned: Spawned
    do throws(SpawnError) {
      // Photos are read side by side instead; more threads for one cost more than they bring.
      spawned = try Spawned(
        path, arguments, environment: ["OMP_THREAD_LIMIT": "1"], complaints: complaints)
    } catch {
      throw ToolError(tool: name, reason: error.description)
    }
    let (id, output) = (spawned.id, spawned.output)
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
}

/// Why a tool did not do its part.
package struct ToolError: Error, Hashable, Sendable, CustomStringConvertible {
  package let tool: String
  package let reason: String
  /// Whether it has to be installed first.
  package var isMissing = false

  package init(tool: String, reason: String, isMissing: Bool = false) {
    (self.tool, self.reason, self.isMissing) = (tool, reason, isMissing)
  }

  package var description: String { "\(tool) \(reason)" }
}
