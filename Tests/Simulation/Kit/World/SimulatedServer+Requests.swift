#if Server && Rehearsal
import Tern
import TernServer
import TernTesting

/// Requests, and the network before them.
extension SimulatedServer {
  /// Carries one request over the network, which may lose it, lose the answer, or carry it twice.
  /// The server looks at the token first, as it does over HTTP.
  func request<T: Sendable>(
    _ device: Int, _ name: String, for space: Int, with token: String?,
    _ body: @escaping @Sendable (SimulatedServer) throws -> T
  ) async throws -> T {
    let request: @Sendable (SimulatedServer) throws -> T = { server in
      try server.service.authorize(token, for: Self.name(of: space))
      return try body(server)
    }
    if !isFaulty { paces[device, default: RequestPace()].quiet += 1 }
    try await travel(device)
    if isCut(device) || happens(.requestLost, device) {
      trace.note("device \(device) \(name): request lost")
      trace.saw(isCut(device) ? .cutOff : .requestLost)
      throw RemoteError(.unreachable, "request lost")
    }
    if happens(.requestRepeated, device) {
      // Carried again later, after whatever else happens until then.
      let delay = Int64.random(in: 10...4000, using: &network[device]!)
      trace.saw(.requestRepeated)
      late.append((clock.milliseconds + delay, { _ = try? request($0) }))
    }
    let result = Result { try perform(request) }
    var answer = "done"
    if case .failure(let error) = result {
      answer = "refused"
      if let error = error as? RemoteError {
        trace.tally.add(Tally.refusal(error.code, by: .server))
      }
    }
    trace.note("device \(device) \(name) at \(index): \(answer)")
    try await travel(device)
    if isCut(device) || happens(.answerLost, device) {
      trace.note("device \(device) \(name): answer lost")
      trace.saw(isCut(device) ? .cutOff : .answerLost)
      throw RemoteError(.unreachable, "answer lost")
    }
    return try result.get()
  }

  func noteFailure(of device: Int) {
    let storm = paces[device, default: RequestPace()].failed(of: device, at: clock.milliseconds)
    violation = violation ?? storm
  }

  private func travel(_ device: Int) async throws {
    let time = Int.random(in: 1...80, using: &network[device]!)
    try await clock.sleep(for: .milliseconds(time))
    let due = late.filter { $0.at <= clock.milliseconds }
    late.removeAll { $0.at <= clock.milliseconds }
    isRepeating = true
    for request in due { request.body(self) }
    isRepeating = false
  }

  private func happens(_ rate: SimulationScript.Rate, _ device: Int) -> Bool {
    isFaulty && network[device]!.happens(script.rates[rate] ?? 0)
  }

  func perform<T>(_ body: (SimulatedServer) throws -> T) throws -> T {
    do {
      return try body(self)
    } catch let error as RemoteError {
      throw error
    } catch {
      crash()
      throw RemoteError(.unreachable, "the server died")
    }
  }

  // MARK: - What the service does, and whether it may

  /// - Parameter replica: whose id is claimed, if nobody has.
  func greet(_ space: Int, as replica: ReplicaID?, of device: Int) throws -> RemoteGreeting {
    let (name, member) = (Self.name(of: space), member(device))
    if let replica, let member { try service.claim(replica, by: member, in: name) }
    return try service.greet(name, as: replica, by: member)
  }

  func push(_ operations: [SyncOperation], to space: Int, of device: Int) throws -> PushReceipt {
    let name = Self.name(of: space)
    // Before, since a crash can follow the commit; what is refused comes again.
    let known = store.summary(of: name).heads
    let new = operations.filter { $0.envelope.sequence > known[$0.envelope.replica] }
    if operations.count <= limits.batchOperations { record(new, in: space) }
    violation = violation ?? operations.timesNotIncreasing
    noteTimes(operations)
    let receipt = try service.push(operations, to: name, by: member(device))
    if operations.count > limits.batchOperations {
      violation = violation ?? "INV-10: a push of \(operations.count) operations was taken"
    }
    let heads = store.summary(of: name).heads
    for operation in operations
    where heads[operation.envelope.replica] < operation.envelope.sequence {
      violation = violation ?? "INV-03: a push was acknowledged that the server does not hold"
    }
    publish(receipt.position, in: space)
    try writeAsStranger(after: operations, to: name)
    try liar.lie(to: self, after: operations, in: space)
    return receipt
  }

  private func noteTimes(_ operations: [SyncOperation]) {
    // Two copies of a file may give one number to two operations.
    if script.steps.contains(where: \.kind.copiesFile) { return }
    for envelope in operations.map(\.envelope) {
      let last = offered[envelope.replica, default: [:]].updateValue(
        envelope.time, forKey: envelope.sequence)
      if let last, last != envelope.time { trace.saw(.restamped) }
    }
  }

  func pull(
    from space: Int, after cursor: RemoteCursor?, excluding excluded: ReplicaID, of device: Int
  ) throws -> PulledPage {
    do {
      let page = try service.pull(
        from: Self.name(of: space), after: cursor, excluding: excluded, by: member(device))
      if page.operations.count > limits.pageOperations {
        violation = violation ?? "INV-10: a page has \(page.operations.count) operations"
      }
      readers.insert(excluded)
      cursors[space, default: []].append(page.cursor)
      let (start, end) = (Self.position(of: cursor), Self.position(of: page.cursor))
      if bases[space, default: []].contains(where: { start < $0 && $0 <= end }) {
        violation = violation ?? "INV-05: a page goes over a base"
      }
      return page
    } catch let error as RemoteError where error.code == .snapshotNeeded {
      // Whoever has pulled holds the horizon back, where nothing ends that. A cursor can also be
      // a snapshot's, and operations that a base stands for are served to nobody.
      let isReader = cursor != nil && readers.contains(excluded)
      let isAbove = keepsLeases && isReader && !isRepeating && !hasBase
      if !script.conditions.contains(.trims) || isAbove {
        violation = violation ?? "INV-12: a replica has to rejoin that is above the horizon"
      }
      throw error
    }
  }

  /// A server's cursor is its epoch, a position and a check.
  private static func position(of cursor: RemoteCursor?) -> UInt64 {
    let parts = cursor?.rawValue.split(separator: ".") ?? []
    return parts.count > 1 ? UInt64(parts[1]) ?? 0 : 0
  }

  func report(_ state: StateReport, in space: Int, of device: Int) throws {
    let name = Self.name(of: space)
    trace.saw(.stateReported)
    if store.summary(of: name).state != nil { trace.saw(.stateCompared) }
    if let known = store.summary(of: name).state?.report, !liar.falseReports.contains(known),
      case let tables = state.differingTables(from: known), !tables.isEmpty
    {
      violation =
        violation ?? "INV-01: replicas report different states of the same operations: \(tables)"
    }
    try service.report(state, in: name, by: member(device))
    reported[space] = state
  }

  // MARK: - Snapshots

  func snapshotPart(_ index: Int, of id: String, in space: Int) throws -> [UInt8] {
    try service.snapshotPart(index, of: id, in: Self.name(of: space))
  }

  func beginSnapshot(_ offer: SnapshotOffer, by device: Int, in space: Int) throws
    -> SnapshotUpload
  {
    let name = Self.name(of: space)
    let upload: SnapshotUpload
    do {
      upload = try service.beginSnapshot(offer, in: name, by: member(device))
    } catch let error as RemoteError where error.code == .refillNeeded {
      // The operator reads of it, and knows what the server has lost.
      try service.refill(name)
      throw error
    }
    offers[upload.id] = offer
    if offer.isBase {
      trace.saw(.baseOffered)
      hasBase = true
      record(try logged(device), in: space)
    }
    return upload
  }

  func putSnapshotPart(_ bytes: [UInt8], index: Int, of id: String, in space: Int) throws {
    try service.putSnapshotPart(bytes, index: index, of: id, in: Self.name(of: space))
  }

  func completeSnapshot(_ id: String, by device: Int, in space: Int) throws {
    let name = Self.name(of: space)
    if let offer = offers.removeValue(forKey: id) { try lie(about: offer, id, in: name) }
    do {
      _ = try service.completeSnapshot(id, in: name, by: member(device))
    } catch let error as RemoteError where error.code == .snapshotRefused {
      violation = violation ?? "INV-03: a snapshot of an honest device was refused: \(error)"
      throw error
    }
    if let snapshot = store.summary(of: name).snapshot, snapshot.id == id, snapshot.isBase {
      bases[space, default: []].insert(snapshot.position)
    }
    trace.note("snapshot complete")
    trace.saw(.snapshotCompleted)
    publish(store.summary(of: name).position, in: space)
  }
}

extension [SyncOperation] {
  /// Before anybody refuses it: what is accepted increases whatever is offered.
  /// The violation, if there is one.
  var timesNotIncreasing: String? {
    for (last, next) in zip(self, dropFirst()).map({ ($0.envelope, $1.envelope) })
    where last.replica == next.replica && last.sequence + 1 == next.sequence {
      if last.continues ? last.time != next.time : last.time >= next.time {
        return "INV-11: the times of \(next.replica) do not increase, in what is pushed"
      }
    }
    return nil
  }
}
#endif
