#if !Server
import RecognizerKit

@main
struct WithoutServer {
  static func main() { endWithoutServer("recognizer") }
}
#endif
