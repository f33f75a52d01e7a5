#if !Server
import ExampleService

@main
struct WithoutServer {
  static func main() { endWithoutServer("interpreter") }
}
#endif
