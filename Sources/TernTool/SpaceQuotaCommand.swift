#if Server
import ArgumentParser
import TernServer

struct SpaceQuotaCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "quota",
    abstract: "Print what a space stores and may store. An option sets that first.",
    discussion: "A space without a quota has that of 'tern serve'. What is stored stays.")

  @OptionGroup var options: DataOptions

  @Argument(help: "The space's name, from 'tern space list'.")
  var space: String

  @Option(help: "The most bytes that it may store, unpacked.")
  var bytes: Int?

  @Option(help: "The most operations that it may store.")
  var operations: Int?

  @Option(help: "The most replica ids that one member may bring.")
  var authors: Int?

  @Option(help: "How much one member may use of what the others leave, in percent.")
  var share: Int?

  @Flag(help: "Give it the server's own quotas again.")
  var reset = false

  func validate() throws {
    guard SpaceQuota.shares.contains(share ?? 1) else {
      throw ValidationError("--share is a number from 1 to 100")
    }
    for (option, value) in [("bytes", bytes), ("operations", operations), ("authors", authors)] {
      guard let value, !SpaceQuota.range.contains(value) else { continue }
      throw ValidationError("--\(option) is a number from 0 to \(SpaceQuota.range.upperBound)")
    }
  }

  func run() async throws {
    let name = try SpaceName(space)
    try withVisitingService(options) { service in
      try checkIsThere(name, service)
      // Who only looks waits for nobody who writes.
      if reset || [bytes, operations, authors, share].contains(where: { $0 != nil }) {
        try set(name, service)
      }
      let usage = try service.store.usage(of: name)
      print("bytes       \(usage.bytes), at most \(Self.text(usage.quota.bytes))")
      print("operations  \(usage.operations), at most \(Self.text(usage.quota.operations))")
      print("authors     at most \(Self.text(usage.quota.authors)) of one member")
      let share = usage.quota.share.map { "\($0) percent" } ?? "half of what is left"
      print("share       at most \(share) for one member")
      if usage.banned.operations > 0 {
        print(
          "banned      \(usage.banned.bytes) bytes and \(usage.banned.operations) operations of "
            + "these, in no quota")
      }
      if usage.keptBytes > 0 { print("kept        \(usage.keptBytes) bytes for a restore") }
    }
  }

  private func set(_ name: SpaceName, _ service: SpaceService) throws {
    var quota = reset ? SpaceQuota() : try service.store.usage(of: name).quota
    quota.bytes = bytes ?? quota.bytes
    quota.operations = operations ?? quota.operations
    quota.authors = authors ?? quota.authors
    quota.share = share ?? quota.share
    guard try service.setQuota(quota, of: name) else { throw absent(name) }
  }

  private static func text(_ most: Int?) -> String { most.map { "\($0)" } ?? "the server's" }
}
#endif
