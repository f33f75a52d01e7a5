import ExampleService
import Foundation
import InterpreterKit

/// The interpreter in this process, where nobody chose a service and none runs on this machine: so it
/// can't outlive the program.
struct OwnInterpreter: Sendable {
  /// Where the interpreter is unless told otherwise. Questions keep this address: of what stands in for
  /// it the port is another each time.
  static let address = Setting.service.standard

  private let url: URL

  /// Where questions to `service` go.
  func url(of service: String) -> URL? { service == Self.address ? url : nil }

  /// Runs `body` beside it, where questions to `service` need it, and says so. What is missing for it
  /// is said, too; the questions then wait.
  static func serving(
    _ service: String, by apertium: @autoclosure () -> Apertium = Apertium(),
    _ body: @escaping @Sendable (OwnInterpreter?) async throws -> Void
  ) async throws {
    guard service == address, !isAnswered else { return try await body(nil) }
    let apertium = apertium()
    guard !apertium.pairs.isEmpty else {
      complain(Word.noOwnService.text(Apertium.packages.joined(separator: " ")))
      return try await body(nil)
    }
    try await InterpreterApplication(apertium).serving { url in
      complain(Word.ownService.text(url))
      try await body(OwnInterpreter(url: url))
    }
  }

  /// Whether somebody listens there, on this machine: to ask takes no time.
  private static var isAnswered: Bool {
    #if os(Linux)
    let end = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #else
    let end = socket(AF_INET, SOCK_STREAM, 0)
    #endif
    guard end >= 0 else { return false }
    defer { close(end) }
    var place = sockaddr_in()
    place.sin_family = sa_family_t(AF_INET)
    place.sin_port = UInt16(URL(string: address)?.port ?? 0).bigEndian
    place.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return withUnsafePointer(to: &place) { place in
      place.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(end, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
  }
}
