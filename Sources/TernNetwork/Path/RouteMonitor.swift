#if os(Linux)
import Dispatch
import Foundation
import TernCore

/// Listens to the routing socket on a queue of its own.
///
/// `@unchecked Sendable`: everything that can change is touched on `queue` alone, but in `init` and
/// `start()`, which come before.
final class RouteMonitor: @unchecked Sendable {
  let relay: PathRelay

  private let queue = DispatchQueue(label: "tern.routes", qos: .utility)
  private let socket: RouteSocket
  private let messages: any DispatchSourceRead
  private let timer: any DispatchSourceTimer
  private let sleep: SleepWatch?
  private let jumps: (any DispatchSourceRead)?
  private var meter: SleepMeter
  private var knowledge: RouteKnowledge
  private var burst = RouteBurst()

  /// - Parameter sleep: `nil` where sleep can't be noticed.
  init(sleep: SleepWatch? = .system()) throws(RouteError) {
    // First the ear, then the question: what changes in between is heard.
    let socket = try RouteSocket.hearing()
    let table = try RouteSocket.table()
    self.socket = socket
    knowledge = RouteKnowledge(table)
    relay = PathRelay(hasRoute: table.hasRoute, isExpensive: table.isExpensive)
    messages = DispatchSource.makeReadSource(fileDescriptor: socket.descriptor, queue: queue)
    timer = DispatchSource.makeTimerSource(queue: queue)
    self.sleep = sleep
    meter = SleepMeter(sleep?.sleptNanoseconds ?? 0)
    jumps = sleep.map { [queue] in
      DispatchSource.makeReadSource(fileDescriptor: $0.descriptor, queue: queue)
    }
  }

  /// From here on the sources hold this object, until ``stop()``.
  func start() {
    messages.setEventHandler { self.hear() }
    timer.setEventHandler { self.look() }
    // The descriptor is closed with the socket, which must not be before the source is done.
    messages.setCancelHandler { [socket] in withExtendedLifetime(socket) {} }
    jumps?.setEventHandler { self.wake() }
    jumps?.setCancelHandler { [sleep] in withExtendedLifetime(sleep) {} }
    timer.activate()
    messages.activate()
    jumps?.activate()
  }

  /// From any thread.
  func stop() {
    messages.cancel()
    timer.cancel()
    jumps?.cancel()
  }

  /// The wall clock jumped: set by somebody, or because time passed in sleep.
  private func wake() {
    guard let sleep else { return }
    sleep.acknowledge()
    guard meter.note(sleep.sleptNanoseconds) else { return }
    burst.isLoss = true
    schedule()
  }

  private func hear() {
    while true {
      do throws(RouteError) {
        for message in try socket.receive() where knowledge.table.loses(message) {
          burst.isLoss = true
        }
      } catch {
        if error.errno == EAGAIN { break }
        // Messages were lost (ENOBUFS); what they said is unknown, but for what is true now.
        burst.isLoss = true
        if error.errno != ENOBUFS { break }
      }
    }
    schedule()
  }

  private func schedule() {
    let now = DispatchTime.now().uptimeNanoseconds
    timer.schedule(deadline: DispatchTime(uptimeNanoseconds: burst.note(at: now)))
  }

  private func look() {
    let isLoss = burst.end()
    let path: RouteKnowledge.Path?
    do throws(RouteError) {
      path = knowledge.note(try RouteSocket.table(), isLoss: isLoss)
    } catch {
      path = knowledge.noteFailure(isLoss: isLoss)
      timer.schedule(deadline: .now() + .seconds(knowledge.pauseSeconds))
    }
    if let path { relay.change(hasRoute: path.hasRoute, isExpensive: path.isExpensive) }
  }
}

/// What the kernel's tables said when they could last be read, and what was told of it.
struct RouteKnowledge {
  struct Path: Hashable {
    var hasRoute: Bool
    var isExpensive: Bool
  }

  private(set) var table: RouteTable
  /// What was told last is no more than that there may be a route.
  private var isGuess = false
  private var failures = 0

  init(_ table: RouteTable) {
    self.table = table
  }

  /// How long after a failure the tables are read again.
  var pauseSeconds: Int { min(1 << max(failures - 1, 0), 60) }

  /// - Returns: what is to be told, if anything.
  mutating func note(_ new: RouteTable, isLoss: Bool) -> Path? {
    let isNews = isLoss || isGuess || new != table
    (table, isGuess, failures) = (new, false, 0)
    return isNews ? Path(hasRoute: new.hasRoute, isExpensive: new.isExpensive) : nil
  }

  /// What can't be known may be a route; but where there was one, nothing says that it is another.
  mutating func noteFailure(isLoss: Bool) -> Path? {
    failures = min(failures + 1, 7)
    guard isLoss || !table.hasRoute && !isGuess else { return nil }
    isGuess = true
    return Path(hasRoute: true, isExpensive: false)
  }
}

/// Messages that belong together.
struct RouteBurst {
  /// Something that was in use was taken away in it.
  var isLoss = false
  private var beginning: UInt64?

  static let quietNanoseconds: UInt64 = 150_000_000
  static let longestNanoseconds: UInt64 = 1_000_000_000

  /// - Returns: when it is over if nothing else comes.
  mutating func note(at nanoseconds: UInt64) -> UInt64 {
    let beginning = beginning ?? nanoseconds
    self.beginning = beginning
    return min(nanoseconds + Self.quietNanoseconds, beginning + Self.longestNanoseconds)
  }

  /// - Returns: whether something was lost in it.
  mutating func end() -> Bool {
    defer { self = RouteBurst() }
    return isLoss
  }
}
#endif
