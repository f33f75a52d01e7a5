// What a process shares where a program names nothing: above every transport and path source.

/// The transport that a program uses when it names none.
public enum SystemTransport {
  /// One per process, so that everything in it shares one pool of connections.
  public static var shared: any HTTPTransport {
    #if os(Linux)
    CurlTransport.shared
    #else
    URLSessionTransport.shared
    #endif
  }
}
