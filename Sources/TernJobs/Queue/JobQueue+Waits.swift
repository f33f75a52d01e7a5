import Foundation
import GRDB
import TernCore

extension JobQueue {
  /// What has not ended, beside what failed or is parked.
  package func waits(_ network: NetworkPath) throws -> [JobWait] {
    let (records, gates, handedOver) = try database.read { db in
      (try self.records(in: db), try self.gates(in: db), try self.handedOver(in: db))
    }
    let now = environment.now.date
    return records.filter { $0.state == .waiting || $0.state == .running }.map { record in
      let gate = gates.first { $0.service == record.service }
      let reason: JobWait.Reason =
        if record.state == .running {
          .attempt
        } else if handedOver.contains(record.id) {
          .transfer(record.readyAt)
        } else if record.isPaused {
          .pause
        } else if !record.isRequirementMet {
          .requirement(record.requirement)
        } else if record.isCredentialRefused {
          .credential
        } else if record.unreached > 0, !network.hasRoute {
          .network
        } else if awaitsRoom(record.id), record.unreached == 0 || record.readyAt <= now {
          .room
        } else if let gate, gate.reopensAt > record.readyAt {
          .gate(gate.service, gate.reopensAt)
        } else {
          .time(record.readyAt)
        }
      return JobWait(
        job: record.id, kind: record.kind, reason: reason,
        failure: handedOver.contains(record.id) ? nil : record.reason)
    }
  }
}
