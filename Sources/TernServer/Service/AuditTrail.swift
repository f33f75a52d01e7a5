#if Server
import Foundation
import TernCore

extension SpaceAccess {
  /// What is to be written down of a change; `nil` where nobody is named.
  func entry(
    _ action: AuditAction, _ space: SpaceName, _ details: [String: String] = [:]
  ) -> AuditEntry? {
    actor.map {
      AuditEntry(actor: $0, action: action, space: space, time: clock.now, details: details)
    }
  }
}

extension LockedSpace {
  /// Writes down what an operator changed, in the transaction that changes it: either both are
  /// stored or neither is.
  ///
  /// - Parameter details: ids, names and numbers; no secret, as it is kept and shown.
  func record(_ action: AuditAction, _ details: [String: String] = [:]) throws {
    guard let entry = access.entry(action, name, details) else { return }
    try rows.audit.add(entry, keeping: limits.auditRecords)
  }
}

extension TokenRecord {
  /// By what an audit record names it.
  var auditDetails: [String: String] {
    var details = ["token": "\(digest)"]
    details["member"] = member?.text
    details["label"] = label?.text
    details["expires"] = expires?.ISO8601Format()
    return details
  }
}

extension SpaceQuota {
  /// Without what is the server's limit.
  var auditDetails: [String: String] {
    ["bytes": bytes, "operations": operations, "authors": authors, "share": share]
      .compactMapValues { $0.map { "\($0)" } }
  }
}
#endif
