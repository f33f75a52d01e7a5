#if Server
import ArgumentParser
import TernCore
import TernServer

struct ReplicaCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "replica",
    abstract:
      "List and ban a space's replicas, and say whose they are. The server may be running.",
    subcommands: [
      ReplicaListCommand.self, ReplicaBanCommand.self, ReplicaUnbanCommand.self,
      ReplicaReleaseCommand.self, ReplicaAdmitCommand.self, ReplicaAssignCommand.self,
    ])
}

struct ReplicaListCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: """
      Print a line for every replica of a space: its id, its last operation, whose it is, how far \
      it has read.
      """)

  @OptionGroup var options: DataOptions

  @Argument(help: "The space's name, from 'tern space list'.")
  var space: String

  func run() async throws {
    let name = try SpaceName(space)
    try withVisitingService(options) { service in
      try checkIsThere(name, service)
      let authors = try service.authors(of: name).sorted { $0.key < $1.key }
      for (replica, author) in authors { print(Self.line(replica, author)) }
    }
  }

  private static func line(_ replica: ReplicaID, _ author: SpaceAuthor) -> String {
    let record = author.record
    var words = ["\(replica)", "up to \(author.sequence)"]
    words.append(record.member.map { "of \($0)" } ?? "of nobody")
    if let brought = record.brought {
      let who =
        switch brought.bringer {
        case .member(let name): "\(name)"
        case .unnamed: "a token without a member"
        case .several: "several"
        }
      words.append("\(brought.first) to \(brought.last) brought by \(who)")
    }
    if let lease = author.lease { words.append("has read up to position \(lease)") }
    if let admitted = record.admitted { words.append("admitted up to \(admitted)") }
    if let last = record.bannedAfter { words.append("banned after \(last)") }
    return words.joined(separator: "  ")
  }
}

/// Replicas of a space: one by its id, or all of a member.
struct ReplicaOptions: ParsableArguments {
  @OptionGroup var data: DataOptions

  @Argument(help: "The space's name, from 'tern space list'.")
  var space: String

  @Argument(help: "The replica's id, from 'tern replica list'.")
  var id: String

  func run(_ body: (SpaceService, ReplicaID, SpaceName) throws -> Bool) throws {
    let name = try SpaceName(space)
    guard let replica = ReplicaID(id) else {
      throw ValidationError("a replica's id has 32 hexadecimal digits; see 'tern replica list'")
    }
    try withVisitingService(data) { service in
      try checkIsThere(name, service)
      guard try body(service, replica, name) else {
        throw ValidationError(
          "space \(space) has no replica \(id); see 'tern replica list'")
      }
    }
  }
}

struct ReplicaBanCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ban",
    abstract: "Refuse what a replica writes from now on, or every replica of a member.",
    discussion: """
      What the space has stays. Revoke the member's tokens first, so that it gets no new replica.
      """)

  @OptionGroup var options: DataOptions

  @Argument(help: "The space's name, from 'tern space list'.")
  var space: String

  @Argument(help: "The replica's id, from 'tern replica list'.")
  var id: String?

  @Option(help: "Ban all replicas that a member claimed, and those that it alone brought.")
  var member: String?

  func validate() throws {
    guard (id == nil) != (member == nil) else {
      throw ValidationError("name one replica's id, or a member with --member")
    }
  }

  func run() async throws {
    let name = try SpaceName(space)
    let member = try member.map { try MemberName($0) }
    try withVisitingService(options) { service in
      try checkIsThere(name, service)
      for replica in try replicas(of: member, in: name, service) {
        let last = try service.ban(replica, in: name)
        print("\(replica)  banned after \(last)")
      }
    }
  }

  private func replicas(
    of member: MemberName?, in space: SpaceName, _ service: SpaceService
  ) throws -> [ReplicaID] {
    guard let member else {
      guard let replica = id.flatMap({ ReplicaID($0) }) else {
        throw ValidationError(
          "a replica's id has 32 hexadecimal digits; see 'tern replica list'")
      }
      return [replica]
    }
    let found = try service.authors(of: space).filter { $0.value.record.belongs(to: member) }
    guard !found.isEmpty else {
      throw ValidationError("space \(space) has no replica of \(member); see 'tern replica list'")
    }
    return found.keys.sorted()
  }
}

struct ReplicaUnbanCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "unban", abstract: "Accept again what a banned replica writes.")

  @OptionGroup var replica: ReplicaOptions

  func run() async throws {
    try replica.run { service, replica, space in try service.unban(replica, in: space) }
  }
}

struct ReplicaReleaseCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "release",
    abstract: "Trim without waiting for a replica that reads no more: drop its lease.",
    discussion: """
      'tern space horizon' says for whom the space waits. A device that comes back has a lease \
      again with its next pull.
      """)

  @OptionGroup var replica: ReplicaOptions

  func run() async throws {
    try replica.run { service, replica, space in
      try service.asOperator.dropLease(of: replica, in: space)
    }
  }
}

struct ReplicaAdmitCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "admit",
    abstract: "Let others bring the operations of a replica whose own device is lost.")

  @OptionGroup var replica: ReplicaOptions

  @Option(help: "The last operation that others may bring.")
  var through: UInt64

  func validate() throws {
    guard through <= VersionVector.maximumSequence else {
      throw ValidationError("--through is a number up to \(VersionVector.maximumSequence)")
    }
  }

  func run() async throws {
    try replica.run { service, replica, space in
      try service.admit(replica, through: through, in: space)
    }
  }
}

struct ReplicaAssignCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "assign",
    abstract: "Give a replica to its member, if somebody else claimed its id.")

  @OptionGroup var replica: ReplicaOptions

  @Option(help: "The member's name. Without it, the replica belongs to nobody.")
  var member: String?

  func run() async throws {
    let member = try member.map { try MemberName($0) }
    try replica.run { service, replica, space in
      try service.assign(replica, to: member, in: space)
    }
  }
}
#endif
