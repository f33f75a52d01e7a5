#if os(Linux)
import Foundation
import Synchronization
import TestProcesses
import Testing

/// A real process, a real server, and SIGKILL while an upload is under way.
@Suite("Transfer: uploads of a process that is killed", .timeLimit(.minutes(1)))
struct UploadProcessTests {
  @Test func `an upload of a process that is killed ends in its next life, and its effect is one`()
    throws
  {
    let keys = Mutex<[String]>([])
    let arrived = Signal()
    let server = try LocalServer { connection in
      guard let request = connection.readRequest() else { return }
      let isFirst = keys.withLock { keys in
        let body = String(decoding: request.body, as: UTF8.self)
        keys.append("\(request.headers["idempotency-key"] ?? "none") \(body)")
        return keys.count == 1
      }
      // The service has done it, and nobody hears of that.
      if isFirst {
        arrived.fire()
        connection.waitForEnd()
      } else {
        connection.answer(201)
      }
    }
    defer { server.stop() }
    try withTemporaryFolder { folder in
      func start() throws -> ChildProcess {
        try ChildProcess(
          BuiltExecutable.path("JobProcess"),
          arguments: ["\(folder)/app.sqlite", "upload", server.url])
      }
      let first = try start()
      arrived.block()
      first.kill()
      first.endInput()
      #expect(first.wait() == SIGKILL)
      let second = try start()
      second.endInput()
      var said: [UInt8] = []
      while let more = second.read() { said += more }
      #expect(String(decoding: said, as: UTF8.self) == "answered 201\n")
      #expect(second.wait() == 0)
      let seen = keys.withLock { $0 }
      #expect(seen.count == 2)
      #expect(Set(seen).count == 1)
      #expect(seen.first?.hasSuffix("-send from afar") == true)
    }
  }
}
#endif
