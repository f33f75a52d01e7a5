/// The named places where a crash must cost nothing. A test decides what happens there; without
/// the package trait `Rehearsal` reaching one is no code at all.
///
/// A program that is built on Tern can name points of its own:
///
/// ```swift
/// extension CrashPoint {
///   static let scanBeforeSend = CrashPoint(rawValue: "scan.before-send")
/// }
/// ```
@_spi(Rehearsal) public struct CrashPoint: RawRepresentable, Hashable, Sendable {
  public let rawValue: String

  public init(rawValue: String) { self.rawValue = rawValue }
}

extension CrashPoint: CustomStringConvertible {
  @_spi(Rehearsal) public var description: String { rawValue }
}
