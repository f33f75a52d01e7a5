import TernCore

/// The source of what is known of the network that a program uses when it names none.
public enum SystemPath {
  /// One per process.
  public static var shared: any CorrectablePathSource {
    #if os(Linux)
    RouteSource.shared
    #elseif canImport(Network)
    PathMonitorSource.shared
    #else
    UnknownPathSource()
    #endif
  }
}
