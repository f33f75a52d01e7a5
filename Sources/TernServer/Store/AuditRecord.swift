#if Server
import Foundation
import TernCore

/// Who changed something as an operator: `operator:anna`, or `command:root`.
public struct AuditActor: Hashable, Sendable {
  public let text: String

  /// One that a store has kept.
  public init(stored text: String) { self.text = text }

  /// Somebody with a token of an operator.
  public static func `operator`(_ name: OperatorName) -> AuditActor {
    AuditActor(stored: "operator:\(name.text)")
  }

  /// A user of a machine, by a command.
  public static func command(of user: String) -> AuditActor {
    AuditActor(stored: "command:\(user.shown())")
  }
}

extension AuditActor: CustomStringConvertible {
  /// One of a damaged file may be any text.
  public var description: String { text.shown() }
}

/// What an operator changed. Later versions know more, so that a store may hold others.
public struct AuditAction: RawRepresentable, Hashable, Sendable {
  public let rawValue: String

  public init(rawValue: String) { self.rawValue = rawValue }

  public static let createSpace = AuditAction(rawValue: "create-space")
  public static let deleteSpace = AuditAction(rawValue: "delete-space")
  public static let suspendSpace = AuditAction(rawValue: "suspend-space")
  public static let resumeSpace = AuditAction(rawValue: "resume-space")
  public static let setQuota = AuditAction(rawValue: "set-quota")
  public static let openRefill = AuditAction(rawValue: "open-refill")
  public static let closeRefill = AuditAction(rawValue: "close-refill")
  public static let restoreSpace = AuditAction(rawValue: "restore-space")
  public static let endRestore = AuditAction(rawValue: "end-restore")
  public static let beginMove = AuditAction(rawValue: "begin-move")
  public static let cancelMove = AuditAction(rawValue: "cancel-move")
  /// In the store that serves the space from then on.
  public static let receiveSpace = AuditAction(rawValue: "receive-space")
  /// In the store that served it before.
  public static let finishMove = AuditAction(rawValue: "finish-move")
  public static let createToken = AuditAction(rawValue: "create-token")
  public static let rotateToken = AuditAction(rawValue: "rotate-token")
  public static let revokeToken = AuditAction(rawValue: "revoke-token")
  public static let banReplica = AuditAction(rawValue: "ban-replica")
  public static let unbanReplica = AuditAction(rawValue: "unban-replica")
  public static let admitReplica = AuditAction(rawValue: "admit-replica")
  public static let assignReplica = AuditAction(rawValue: "assign-replica")
  public static let releaseReplica = AuditAction(rawValue: "release-replica")
  public static let acceptSnapshot = AuditAction(rawValue: "accept-snapshot")
  public static let dropSnapshot = AuditAction(rawValue: "drop-snapshot")
}

extension AuditAction: CustomStringConvertible {
  public var description: String { rawValue.shown() }
}

/// A change by an operator, as it is written in the transaction that makes it.
public struct AuditEntry: Hashable, Sendable {
  public let actor: AuditActor
  public let action: AuditAction
  public let space: SpaceName
  /// By the server's clock.
  public let time: Date
  /// What the change was about: ids, names and numbers, and never a secret.
  public let details: [String: String]

  public init(
    actor: AuditActor, action: AuditAction, space: SpaceName, time: Date,
    details: [String: String] = [:]
  ) {
    (self.actor, self.action, self.space) = (actor, action, space)
    (self.time, self.details) = (time, details)
  }

  /// ``details`` as they are stored: JSON, with its keys in order.
  var detailsText: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(details) else {
      fatalError("an object of strings has a JSON form")
    }
    return String(decoding: data, as: UTF8.self)
  }

  /// A damaged row's details are given as they stand, so that the log can be read all the same.
  static func details(stored text: String) -> [String: String] {
    // Nothing else tells whether it is what was written.
    (try? JSONDecoder().decode([String: String].self, from: Data(text.utf8))) ?? ["damaged": text]
  }
}

/// A change that an operator made.
public struct AuditRecord: Hashable, Sendable {
  /// From 1 on in each store, in the order of the commits and without a gap.
  public let number: UInt64
  public let entry: AuditEntry

  public init(number: UInt64, _ entry: AuditEntry) {
    (self.number, self.entry) = (number, entry)
  }

  /// The columns of which the stores make one, in this order.
  static let columns = "number, at_ms, actor, action, space, details"

  init(
    number: Int64, milliseconds: Int64, actor: String, action: String, space: String,
    details: String
  ) {
    // A damaged row may have any numbers, and is shown all the same.
    let most = HybridTime.maximumMilliseconds
    self.init(
      number: UInt64(clamping: number),
      AuditEntry(
        actor: AuditActor(stored: actor), action: AuditAction(rawValue: action),
        space: SpaceName(stored: space),
        time: Date(milliseconds: max(-most, min(milliseconds, most))),
        details: AuditEntry.details(stored: details)))
  }
}
#endif
