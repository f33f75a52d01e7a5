#if Server
import Testing

@testable import TernServer

@Suite("HTTP: the limit of open files")
struct OpenFilesTests {
  @Test("connections fit in it beside the store, and streams in three quarters of them")
  func fit() {
    var limits = ServerLimits()
    limits.fit(openFiles: 1 << 20)
    #expect(limits == ServerLimits())
    limits.fit(openFiles: 1_024)
    #expect((limits.connections, limits.streams) == (896, 672))
    #expect(limits.connectionsPerAddress == 448)
    limits.fit(openFiles: 100)
    #expect((limits.connections, limits.streams) == (50, 37))
  }
}
#endif
