#if Server
import Foundation
import Hummingbird
import HummingbirdCore
import NIOCore
import ServiceLifecycle

/// A part of the server that listens, and says why it can't.
struct Listening: Service {
  let base: any Service
  let host: String
  let port: Int
  /// What the options that choose another address begin with.
  let options: String

  /// - Throws: ``ListenError`` when the address can't be had.
  func run() async throws {
    do {
      try await base.run()
    } catch let error as IOError {
      throw ListenError(
        host: host, port: port, reason: String(cString: strerror(error.errnoCode)),
        options: options)
    } catch is SocketAddressError {
      throw ListenError(host: host, port: port, reason: "no such host", options: options)
    }
  }
}
#endif
