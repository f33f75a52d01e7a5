#if Server
import Foundation

/// The browser of whoever sits before the screen.
package enum PageBrowser {
  /// Does nothing where there is none.
  package static func open(_ address: String) {
    guard let program else { return }
    let process = Process()
    process.executableURL = URL(filePath: program)
    process.arguments = [address]
    (process.standardOutput, process.standardError) =
      (FileHandle.nullDevice, FileHandle.nullDevice)
    // The address is printed: whoever has no browser takes it from there.
    try? process.run()
  }

  private static var program: String? {
    #if os(macOS)
    return "/usr/bin/open"
    #else
    let environment = ProcessInfo.processInfo.environment
    // Over ssh the command may be there without a screen.
    guard environment["DISPLAY"] != nil || environment["WAYLAND_DISPLAY"] != nil else { return nil }
    return (environment["PATH"] ?? "").split(separator: ":").map { "\($0)/xdg-open" }
      .first(where: FileManager.default.isExecutableFile)
    #endif
  }
}
#endif
