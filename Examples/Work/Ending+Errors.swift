import ExamplePages
import ExampleService
import GRDB
import Tern
import TernJobs

extension Ending {
  /// How an error of the library, of SQLite or of a page ends a program; `nil` where something else
  /// knows.
  package static func of(_ error: any Error) -> Ending? {
    switch error {
    case let error as DatabaseError:
      [.SQLITE_FULL, .SQLITE_IOERR].contains(error.resultCode) ? .disk : .failed
    case let error as DatabaseSetupError: error.underlyingError.flatMap { of($0) } ?? .badFile
    case let error as JobQueueError:
      switch error.code {
      case .diskFull: .disk
      // It works on what is there, and this can be asked for another time.
      case .workerRunning: .later
      default: .failed
      }
    case is PageError: .usage
    case is PageTokenError: .disk
    case let error as RemoteError:
      error.code == .unreachable || error.code == .unavailable ? .later : .usage
    default: nil
    }
  }
}
