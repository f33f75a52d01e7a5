#if !Server
import Foundation

/// Ends a program of which nothing is left when the package is built without the `Server` trait.
public func endWithoutServer(_ program: String) -> Never {
  let message =
    "\(program): built without its parts; build it with: swift build --traits Server\n"
  FileHandle.standardError.write(Data(message.utf8))
  exit(1)
}
#endif
