#if Server
#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// This process's limit of open files, of which every connection needs one.
enum OpenFiles {
  #if canImport(Glibc)
  private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
  #else
  private static let resource = RLIMIT_NOFILE
  #endif

  /// Raises the limit as far as the process may, and returns it.
  static func raiseLimit() -> Int {
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0 else { return 256 }
    let most = limit.rlim_max
    for wanted in [most, min(most, 10_240)] where wanted > limit.rlim_cur {
      // macOS allows less than its limit says.
      var raised = rlimit(rlim_cur: wanted, rlim_max: most)
      if setrlimit(resource, &raised) == 0 { return Int(clamping: wanted) }
    }
    return Int(clamping: limit.rlim_cur)
  }
}

extension ServerLimits {
  /// Raises this process's limit of open files as far as it may, and lowers ``connections``,
  /// ``connectionsPerAddress`` and ``streams`` to what fits in it. `tern serve` does, before it
  /// listens.
  public mutating func fitOpenFiles() { fit(openFiles: OpenFiles.raiseLimit()) }

  /// Leaves some for the store, the log, and what a service has beside.
  mutating func fit(openFiles: Int) {
    connections = max(1, min(connections, max(openFiles / 2, openFiles - 128)))
    streams = min(streams, connections * 3 / 4)
    connectionsPerAddress = min(connectionsPerAddress, max(1, connections / 2))
  }
}
#endif
