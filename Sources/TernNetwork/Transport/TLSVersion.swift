/// What a transport asks of a server's encryption; nothing older is ever spoken.
public enum TLSVersion: Hashable, Sendable {
  case v12
  case v13
}
