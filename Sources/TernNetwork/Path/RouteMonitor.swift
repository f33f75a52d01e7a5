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
  /// `nil` while the kernel's tables can't be read.
  private var table: RouteTable?
  private var burst = RouteBurst()

  /// - Parameter sleep: `nil` where sleep can't be noticed.
  init(sleep: SleepWatch? = .system()) throws(RouteError) {
    // First the ear, then the question: what changes in between is heard.
    let socket = try RouteSocket.hearing()
    let table = try RouteSocket.table()
    self.socket = socket
    self.table = table
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
        for message in try socket.receive() where table?.loses(message) == true {
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
    let new: RouteTable?
    do throws(RouteError) { new = try RouteSocket.table() } catch {
      // As the documentation says: what can't be known may be a route.
      new = nil
    }
    defer { table = new }
    if isLoss || new != table {
      relay.change(hasRoute: new?.hasRoute ?? true, isExpensive: new?.isExpensive ?? false)
    }
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
