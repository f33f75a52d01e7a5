#if os(Linux)
import Foundation
import TestProcesses
import Testing

/// What a worker knows of the network that is told nothing of it.
@Suite("Path: what a worker knows of the network by itself", .timeLimit(.minutes(1)))
struct WorkerPathTests {
  private static let isPossible = (try? run("true"))?.code == 0

  /// Runs a command of the shell in a network of its own.
  private static func run(_ command: String) throws -> (output: String, code: CInt) {
    let child = try ChildProcess(
      "/usr/bin/env", arguments: ["unshare", "-rn", "sh", "-c", command])
    child.endInput()
    var output: [UInt8] = []
    while let bytes = child.read() { output += bytes }
    return (String(decoding: output, as: UTF8.self), child.wait())
  }

  @Test(
    "a job that requires a network waits for the system's",
    .enabled(if: isPossible, "this system lets nobody make a network"))
  func systemPath() throws {
    let program = try BuiltExecutable.path("JobProcess")
    try withTemporaryFolder { folder in
      let file = "\(folder)/app.sqlite"
      let alone = try Self.run("exec '\(program)' '\(file)' reach")
      #expect(alone.output == "drained\n")
      #expect(alone.code == 0)
      let reached = try Self.run(
        "ip link add net0 type veth peer name net1 && ip addr add 10.9.0.2/24 dev net0 "
          + "&& ip link set net0 up && ip link set net1 up && ip route add default via 10.9.0.1 "
          + "&& exec '\(program)' '\(file)' reach")
      #expect(reached.output == "ran\nran\ndrained\n")
      #expect(reached.code == 0)
    }
  }
}
#endif
