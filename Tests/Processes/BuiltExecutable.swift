#if os(Linux) || os(macOS)
import Foundation

/// An executable of this package, which SwiftPM builds beside what depends on it.
package enum BuiltExecutable {
  /// - Throws: `CocoaError.fileNoSuchFile` when it was not built.
  package static func path(_ name: String) throws -> String {
    let bundles = [Bundle.main] + Bundle.allBundles
    let folders = bundles.flatMap { [$0.bundleURL, $0.bundleURL.deletingLastPathComponent()] }
    for folder in folders {
      let path = folder.appending(component: name).path(percentEncoded: false)
      if FileManager.default.isExecutableFile(atPath: path) { return path }
    }
    throw CocoaError(.fileNoSuchFile, userInfo: [NSFilePathErrorKey: name])
  }
}
#endif
