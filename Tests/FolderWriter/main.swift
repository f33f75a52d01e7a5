// Appends to a shared folder until it is killed, started by the engine's tests:
// FolderWriter FOLDER [PUSH], where PUSH is the one in whose middle it kills itself. Prints the
// sequence number of each operation that was acknowledged, a line each.

#if os(Linux) || os(macOS)
import Foundation
import Synchronization
import Tern
import TernTesting

let arguments = CommandLine.arguments
let deadly = arguments.count > 2 ? Int(arguments[2])! : .max
let writer = ReplicaID(bytes: [UInt8](repeating: 7, count: 16))!
let writes = Mutex(0)
let files = DurableFile(isSynced: false) { descriptor, bytes in
  let number = writes.withLock { count in
    count += 1
    return count
  }
  guard number == deadly else { return write(descriptor, bytes.baseAddress, bytes.count) }
  _ = write(descriptor, bytes.baseAddress, bytes.count / 2)
  kill(getpid(), SIGKILL)
  return -1
}
let remote = DirectoryRemote(
  URL(filePath: arguments[1]), space: "home", writer: { writer }, files: files)

var sequence = try await remote.greet().heads[writer]
var generator = SeededGenerator(seed: sequence)
while true {
  sequence += 1
  let body = (0..<200_000).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
  let envelope = SyncOperation.Envelope(
    replica: writer, sequence: sequence,
    time: HybridTime(milliseconds: 1_700_000_000_000 + Int64(sequence)))
  _ = try await remote.push([SyncOperation(envelope, body: body)])
  let line = Array("\(sequence)\n".utf8)
  guard write(STDOUT_FILENO, line, line.count) == line.count else { exit(1) }
}
#endif
