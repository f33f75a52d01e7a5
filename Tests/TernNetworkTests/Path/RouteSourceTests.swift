#if os(Linux)
import Foundation
import TernNetwork
import TestProcesses
import Testing

@Suite("Path: routes that come and go in a network of the test's own", .timeLimit(.minutes(1)))
struct RouteSourceTests {
  /// A process that is allowed to make a network, and `ip` to change it.
  private static let isPossible: Bool = (try? inNetwork("ip", ["link"]))?.code == 0

  private static func inNetwork(
    _ program: String, _ arguments: [String]
  ) throws -> (lines: [String], code: CInt) {
    let child = try ChildProcess(
      "/usr/bin/env", arguments: ["unshare", "-rn", program] + arguments)
    var output: [UInt8] = []
    while let bytes = child.read() { output += bytes }
    child.endInput()
    let lines = String(decoding: output, as: UTF8.self).split(separator: "\n").map(String.init)
    return (lines, child.wait())
  }

  private func probe(_ steps: String...) throws -> [String] {
    let (lines, code) = try Self.inNetwork(BuiltExecutable.path("PathProbe"), steps)
    #expect(code == 0)
    return lines
  }

  /// By one process, so that a slow machine makes one burst of it too.
  private static func batch(_ commands: String...) -> String {
    "printf '\(commands.joined(separator: "\\n"))' | ip -batch -"
  }

  private static let pair = batch(
    "link add net0 type veth peer name net1", "addr add 10.9.0.2/24 dev net0", "link set net0 up",
    "link set net1 up", "route add default via 10.9.0.1")

  /// Without the addresses that IPv6 makes by itself, whose messages come a second or two later.
  private static let quietPair = batch(
    "link add net0 type veth peer name net1", "link set net0 addrgenmode none",
    "link set net1 addrgenmode none", "addr add 10.9.0.2/24 dev net0", "link set net0 up",
    "link set net1 up", "route add default via 10.9.0.1")

  private static let pairAgain = batch(
    "link set net0 up", "route add default via 10.9.0.1")

  @Test(
    "a route comes, goes and comes back, each burst of messages as one change",
    .enabled(if: isPossible, "this system lets nobody make a network"))
  func comeAndGo() throws {
    let lines = try probe(
      "change", Self.pair, "change", "ip link set net1 down", "change", "ip link set net1 up",
      "change", "ip route replace default via 10.9.0.3", "change", "ip link del net0")
    #expect(lines == ["none 0", "route 1", "none 2", "route 3", "route 4", "none 5"])
  }

  @Test(
    "a route that goes and comes back within one burst is a change",
    .enabled(if: isPossible, "this system lets nobody make a network"))
  func flap() throws {
    let lines = try probe(
      "change", Self.pair, "change",
      Self.batch("route del default", "route add default via 10.9.0.1"))
    #expect(lines == ["none 0", "route 1", "route 2"])
  }

  @Test(
    "a bridge of containers is no way to beyond, with IPv6 there is one",
    .enabled(if: isPossible, "this system lets nobody make a network"))
  func bridge() throws {
    let lines = try probe(
      "fresh",
      "ip link add docker0 type bridge; ip addr add 172.17.0.1/16 dev docker0;"
        + "ip link add one type veth peer name two; ip link set one master docker0;"
        + "ip link set one up; ip link set two up; ip link set docker0 up", "fresh",
      "ip -6 addr add 2001:db8::2/64 dev two nodad")
    #expect(lines == ["none 0", "none 0", "route 0"])
  }

  @Test(
    "routes of both families are heard of, and one that is left is enough",
    .enabled(if: isPossible, "this system lets nobody make a network"))
  func families() throws {
    let lines = try probe(
      "change", Self.pair, "change",
      Self.batch(
        "addr add 2001:db8::2/64 dev net0 nodad", "route add default via 2001:db8::1"),
      "change", "ip -4 addr flush dev net0", "change",
      Self.batch(
        "route del default via 2001:db8::1 dev net0", "addr del 2001:db8::2/64 dev net0"))
    #expect(lines == ["none 0", "route 1", "route 2", "route 3", "none 4"])
  }

  @Test(
    "what the kernel could not say, because nobody listened for too long, counts as a loss, and is read",
    .enabled(if: isPossible, "this system lets nobody make a network"),
    arguments: [
      ("ip route del default; ip route add default via 10.9.0.1", "route 2"),
      ("ip -4 addr flush dev net0", "none 2"),
    ])
  func overflow(last: String, path: String) throws {
    // The reader is stopped while thousands of messages come and go, until there is no room for more. Then the
    // default route goes and comes back, and everything is as it was before; or all routes go. Nothing follows that
    // would have the tables read for a reason of its own.
    let flood =
      "seq 1 4000 | awk '{ r = \"10.77.\" int($1 / 250) \".\" $1 % 250 \"/32 dev net0\";"
      + " print \"route add \" r; print \"route del \" r }' | ip -batch -;"
    let lines = try probe(
      "change", Self.quietPair, "lost", "change",
      "trap 'kill -CONT $PPID' EXIT; kill -STOP $PPID; " + flood + last,
      "lost")
    #expect(lines == ["none 0", "route 1", "heard", path, "lost"])
  }

  @Test(
    "where the kernel can't be asked there may be a route, at first and later",
    .enabled(if: isPossible, "this system lets nobody make a network"))
  func blind() throws {
    let lines = try probe("blind", Self.pair + "; ip link set net0 down", "change", Self.pairAgain)
    #expect(lines == ["none 0", "route 0", "route 1", "route 2"])
  }

  @Test(
    "a server on this very machine is reached without any route",
    .enabled(if: isPossible, "this system lets nobody make a network"))
  func loopback() throws {
    #expect(try probe("fresh", "ip link set lo up", "get") == ["none 0", "none 0", "204"])
  }

  @Test(
    "a network whose gateway is silent is none, and one in which a request gets through is one",
    .enabled(if: isPossible, "this system lets nobody make a network"))
  func corrected() throws {
    // Without a carrier the kernel would know; nobody answers at 10.9.0.1 until this machine does itself.
    let lines = try probe(
      "change", Self.pair, "ask", "fresh", "ip link set lo up; ip addr add 10.9.0.1/32 dev lo",
      "ask")
    #expect(
      lines == ["none 0", "route 1", "silence", "none 2", "route 0", "204", "route 3"])
  }

  @Test(
    "released sources leave no socket open",
    .enabled(if: isPossible, "this system lets nobody make a network"))
  func release() throws {
    #expect(try probe("release") == ["none 0", "0"])
  }

  @Test("where there is no network of one's own to change, the system's path is known at once")
  func system() async throws {
    var changes = SystemPath.shared.changes().makeAsyncIterator()
    #expect(await changes.next()?.hasRoute == SystemPath.shared.path.hasRoute)
  }
}
#endif
