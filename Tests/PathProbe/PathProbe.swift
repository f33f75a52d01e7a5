#if os(Linux)
import Foundation
import TernCore
import TernNetwork

/// Says what a ``RouteSource`` says while the network changes, in a network that a test gave it.
///
/// Arguments are steps, each printing one line:
/// - `change COMMANDS` runs them in a shell and waits for the path that follows;
/// - `fresh COMMANDS` runs them and asks a new source;
/// - `blind COMMANDS` runs them while this process can open nothing more, asks a new source, and then waits
///   for the path that follows;
/// - `get` asks a server on this machine through HTTP;
/// - `ask` asks one at 10.9.0.1 through a ``CheckingTransport``, and says what became of the path;
/// - `lost` says whether the kernel dropped a message that this process had no room for;
/// - `release` makes and releases sources, and says how many sockets are left open.
@main
struct PathProbe {
  static func main() async throws {
    // A change that never comes is an end, before the test's own time is over.
    alarm(50)
    let source = RouteSource()
    var changes = source.changes().makeAsyncIterator()
    say(try await next(&changes))
    let port = try serve()
    var steps = CommandLine.arguments.dropFirst()
    while let step = steps.popFirst() {
      switch step {
      case "change":
        try run(steps.popFirst())
        say(try await next(&changes))
      case "fresh":
        try run(steps.popFirst())
        say(RouteSource().path)
      case "blind":
        try await blindly(steps.popFirst(), &changes)
      case "ask": try await ask(port, source)
      case "get": print(try await get())
      case "lost": print(try lostCount() > 0 ? "lost" : "heard")
      case "release": print(try released())
      default: throw Failure(what: "no such step: \(step)")
      }
    }
  }

  private static func say(_ path: NetworkPath) {
    print(path.hasRoute ? "route" : "none", path.generation)
  }

  private static func next(
    _ changes: inout AsyncStream<NetworkPath>.Iterator
  ) async throws -> NetworkPath {
    guard let path = await changes.next() else { throw Failure(what: "the changes ended") }
    return path
  }

  private static func run(_ commands: String?) throws {
    guard let commands, system("set -e; \(commands)") == 0 else {
      throw Failure(what: "failed: \(commands ?? "nothing")")
    }
  }

  /// The shell is started before the limit, and reads what it is to do under it.
  private static func blindly(
    _ commands: String?, _ changes: inout AsyncStream<NetworkPath>.Iterator
  ) async throws {
    guard let commands, let shell = popen("sh -e", "w") else { throw Failure(what: "no shell") }
    // real time: Dispatch opens a descriptor for timers when the first is set, and says it to nobody.
    await withCheckedContinuation { continuation in
      DispatchQueue(label: "timer").asyncAfter(deadline: .now() + .milliseconds(1)) {
        continuation.resume()
      }
    }
    let before = setFileLimit(3)
    defer { _ = setFileLimit(before) }
    say(RouteSource().path)
    fputs(commands + "\n", shell)
    guard pclose(shell) == 0 else { throw Failure(what: "failed: \(commands)") }
    say(try await next(&changes))
  }

  /// - Returns: What it was.
  private static func setFileLimit(_ count: rlim_t) -> rlim_t {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    let before = limit.rlim_cur
    limit.rlim_cur = count
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    return before
  }

  /// The status of an answer from 127.0.0.1.
  private static func get() async throws -> Int {
    let url = "http://127.0.0.1:\(try serve())/"
    return try await CurlTransport.shared.send(HTTPRequest(.get, url, timeout: .seconds(10)))
      .status
  }

  /// Asks what is at 10.9.0.1, which is the app's own server, where anything is there.
  private static func ask(_ port: Int, _ source: RouteSource) async throws {
    let url = "http://10.9.0.1:\(port)/"
    let transport = CheckingTransport(
      over: CurlTransport.shared, correcting: source,
      probe: ServerProbe(url, timeout: .milliseconds(500)))
    var request = HTTPRequest(.get, url)
    request.connectTimeout = .milliseconds(500)
    do {
      print(try await transport.send(request).status)
    } catch let error as HTTPError {
      print(error.code == .connectTimeout || error.code == .unreachable ? "silence" : "\(error)")
    }
    say(source.path)
  }

  /// A server on every address of this machine, which answers each connection with 204.
  ///
  /// - Returns: Its port.
  private static func serve() throws -> Int {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isReady = withUnsafeMutableBytes(of: &address) { bytes in
      let pointer = bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self)
      return bind(listener, pointer, length) == 0 && listen(listener, 16) == 0
        && getsockname(listener, pointer, &length) == 0
    }
    guard isReady else { throw Failure(what: "no server: \(String(cString: strerror(errno)))") }
    let thread = Thread {
      while case let connection = accept(listener, nil, nil), connection >= 0 {
        let answer = Array("HTTP/1.1 204 Here\r\nConnection: close\r\n\r\n".utf8)
        _ = write(connection, answer, answer.count)
        shutdown(connection, Int32(SHUT_WR))
      }
    }
    thread.start()
    return Int(UInt16(bigEndian: address.sin_port))
  }

  /// By the kernel's own count: proc(5) has a socket in each row, its protocol second, of which rtnetlink is 0,
  /// its groups fourth, and what it lost before the inode, which is last.
  private static func lostCount() throws -> Int {
    let table = try String(contentsOfFile: "/proc/self/net/netlink", encoding: .utf8)
    let rows = table.split(separator: "\n").dropFirst().map { $0.split(separator: " ") }
    let hearing = rows.filter { $0.count > 8 && $0[1] == "0" && $0[3].contains { $0 != "0" } }
    let counts = hearing.compactMap { Int($0[$0.count - 2]) }
    guard !counts.isEmpty else { throw Failure(what: "nobody listens") }
    return counts.reduce(0, +)
  }

  /// Sockets beyond those before, once they are closed: on the sources' own queues, soon.
  private static func released() throws -> Int {
    let before = try socketCount()
    for _ in 0..<50 {
      let source = RouteSource()
      _ = source.changes()
      guard !source.path.hasRoute else { throw Failure(what: "a source could not be made") }
    }
    // real time: nothing tells of a closed socket.
    let patience = ContinuousClock.now + .seconds(10)
    while try socketCount() > before, ContinuousClock.now < patience { sched_yield() }
    return try socketCount() - before
  }

  /// Sockets only: Dispatch opens descriptors of its own when it first needs them.
  private static func socketCount() throws -> Int {
    let folder = "/proc/self/fd"
    return try FileManager.default.contentsOfDirectory(atPath: folder).filter { name in
      // The descriptor by which the folder was read is gone by now.
      let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)")
      return target?.hasPrefix("socket:") == true
    }.count
  }
}

private struct Failure: Error {
  let what: String
}
#else
@main
struct PathProbe {
  static func main() {}
}
#endif
