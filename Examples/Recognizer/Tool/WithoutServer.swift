#if !Server
import Foundation

/// What is left of the command when the package is built without the `Server` trait.
@main
struct WithoutServer {
  static func main() {
    let message =
      "recognizer: built without the server; build it with: swift build --traits Server\n"
    FileHandle.standardError.write(Data(message.utf8))
    exit(1)
  }
}
#endif
