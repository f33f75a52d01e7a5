#if Server
import NIOCore
import Synchronization

/// All connections of the server. Where there are too many it names the one to close: the one that
/// has not been authorized for longest, since it came where it never was. It never names one that
/// has an authorized request under way, as an event stream is.
final class ConnectionBook: Sendable {
  /// Connections in the order in which they were last authorized.
  private struct Order {
    private var places: [UInt64: ObjectIdentifier] = [:]
    /// No place before it is taken.
    private var first: UInt64 = 0

    mutating func add(_ connection: ObjectIdentifier, at place: UInt64) {
      places[place] = connection
    }

    mutating func remove(_ place: UInt64) { places[place] = nil }

    mutating func oldest(before end: UInt64) -> ObjectIdentifier? {
      if places.isEmpty { first = end }
      while first < end {
        if let connection = places[first] { return connection }
        first += 1
      }
      return nil
    }
  }

  private struct Entry {
    let channel: any Channel
    let address: PeerAddress?
    /// `nil` while an authorized request is under way.
    var place: UInt64?
  }

  private struct State {
    var entries: [ObjectIdentifier: Entry] = [:]
    var order = Order()
    var addresses: [PeerAddress: (count: Int, order: Order)] = [:]
    var nextPlace: UInt64 = 0

    mutating func free(_ connection: ObjectIdentifier) {
      guard var entry = entries[connection], entry.place == nil else { return }
      entry.place = nextPlace
      entries[connection] = entry
      order.add(connection, at: nextPlace)
      if let address = entry.address { addresses[address]?.order.add(connection, at: nextPlace) }
      nextPlace += 1
    }

    mutating func hold(_ connection: ObjectIdentifier) {
      guard let entry = entries[connection], let place = entry.place else { return }
      entries[connection]?.place = nil
      order.remove(place)
      if let address = entry.address { addresses[address]?.order.remove(place) }
    }

    mutating func remove(_ connection: ObjectIdentifier) -> (any Channel)? {
      hold(connection)
      guard let entry = entries.removeValue(forKey: connection) else { return nil }
      if let address = entry.address, let count = addresses[address]?.count {
        if count > 1 { addresses[address]?.count -= 1 } else { addresses[address] = nil }
      }
      return entry.channel
    }
  }

  private let limit: Int
  private let limitPerAddress: Int
  private let state = Mutex(State())

  init(limit: Int, limitPerAddress: Int) {
    (self.limit, self.limitPerAddress) = (limit, limitPerAddress)
  }

  /// How many there are.
  var count: Int { state.withLock { $0.entries.count } }

  /// A connection came. Where its address has too many, or the next one would not be accepted,
  /// another one is closed; where none may be, this one is or the next one waits.
  func open(_ channel: any Channel) {
    let connection = ObjectIdentifier(channel)
    let address = channel.remoteAddress.flatMap { PeerAddress($0) }
    let closed = state.withLock { state -> [any Channel] in
      state.entries[connection] = Entry(channel: channel, address: address, place: nil)
      var closed: [(any Channel)?] = []
      if let address {
        state.addresses[address, default: (0, Order())].count += 1
        if let count = state.addresses[address]?.count, count > limitPerAddress {
          let oldest = state.addresses[address]?.order.oldest(before: state.nextPlace)
          closed.append(state.remove(oldest ?? connection))
        }
      }
      closed.append(room(in: &state))
      state.free(connection)
      return closed.compactMap(\.self)
    }
    for channel in closed { channel.close(promise: nil) }
  }

  /// Returns one to be closed, where there are as many as may be accepted.
  private func room(in state: inout State) -> (any Channel)? {
    guard state.entries.count >= limit,
      let oldest = state.order.oldest(before: state.nextPlace)
    else { return nil }
    return state.remove(oldest)
  }

  /// A request on the connection was authorized, and is under way until ``answered(_:)``.
  func authorized(_ channel: any Channel) {
    state.withLock { $0.hold(ObjectIdentifier(channel)) }
  }

  /// An answer on the connection has left.
  func answered(_ channel: any Channel) {
    let closed = state.withLock { state in
      state.free(ObjectIdentifier(channel))
      return room(in: &state)
    }
    closed?.close(promise: nil)
  }

  func closed(_ channel: any Channel) {
    _ = state.withLock { $0.remove(ObjectIdentifier(channel)) }
  }
}

/// What counts as one peer: an IPv4 address, or the first 64 bits of an IPv6 one, which is what a
/// household is given.
struct PeerAddress: Hashable {
  private let bytes: [UInt8]

  /// `nil` for what has no address, as a socket of this machine's files.
  init?(_ address: SocketAddress) {
    let bytes: [UInt8]
    switch address {
    case .v4(let v4): bytes = withUnsafeBytes(of: v4.address.sin_addr) { Array($0) }
    case .v6(let v6): bytes = withUnsafeBytes(of: v6.address.sin6_addr) { Array($0) }
    case .unixDomainSocket: return nil
    }
    let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]
    self.bytes = bytes.starts(with: mapped) ? Array(bytes.suffix(4)) : Array(bytes.prefix(8))
  }
}
#endif
