#if PostgreSQL
import CPostgreSQL
import Foundation

/// Which hosts an address names.
struct PostgreSQLAddress {
  private var settings: [String: String] = [:]

  /// - Parameter options: as libpq has read an address.
  init(_ options: UnsafeMutablePointer<PQconninfoOption>) {
    var option = options
    while let keyword = option.pointee.keyword {
      if let value = option.pointee.val {
        settings[String(cString: keyword)] = String(cString: value)
      }
      option += 1
    }
  }

  /// Whether the database is on this machine: behind a socket's file, or a loopback address.
  ///
  /// What libpq takes from elsewhere, a service or the environment, may name another machine.
  var isLocal: Bool {
    let environment = ProcessInfo.processInfo.environment
    guard settings["service"] ?? environment["PGSERVICE"] == nil else { return false }
    let hosts =
      settings["hostaddr"] ?? environment["PGHOSTADDR"]
      ?? settings["host"] ?? environment["PGHOST"] ?? ""
    return hosts.split(separator: ",", omittingEmptySubsequences: false).allSatisfy { host in
      host.isEmpty || host.hasPrefix("/") || host.hasPrefix("@") || host == "localhost"
        || host == "::1" || Self.isLoopback(host)
    }
  }

  /// Four numbers, of which the first is 127.
  private static func isLoopback(_ host: Substring) -> Bool {
    var address = in_addr()
    return inet_pton(AF_INET, String(host), &address) == 1 && host.hasPrefix("127.")
  }
}
#endif
