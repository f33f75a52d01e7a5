import Dispatch
import Foundation

/// Tells when files of one folder may have been written or closed, by whatever process. It needs no
/// file to be there, and follows one that is made anew.
///
/// An event is a hint and may come without a change.
package enum FileWatch {
  /// One element for all that happened since the last one was taken, until the reader's task is
  /// cancelled or the stream is let go.
  ///
  /// - Parameter names: of the files, without their folder.
  /// - Returns: `nil` where the system can't watch this folder, or no more of them. On Apple's
  ///   systems that is always so, for now: who follows files there looks at intervals.
  package static func events(in folder: String, names: Set<String>) -> AsyncStream<Void>? {
    #if os(Linux)
    let descriptor = inotify_init1(CInt(IN_NONBLOCK) | CInt(IN_CLOEXEC))
    guard descriptor >= 0 else { return nil }
    let mask = UInt32(IN_MODIFY | IN_CLOSE_WRITE | IN_CREATE | IN_MOVED_TO | IN_DELETE)
    guard inotify_add_watch(descriptor, folder, mask) >= 0 else {
      close(descriptor)
      return nil
    }
    return AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      let queue = DispatchQueue(label: "tern.files", qos: .utility)
      // Told of the end from any thread, which a source bears.
      nonisolated(unsafe) let source = DispatchSource.makeReadSource(
        fileDescriptor: descriptor, queue: queue)
      source.setEventHandler {
        if isAny(of: names, in: descriptor) { continuation.yield() }
      }
      source.setCancelHandler { close(descriptor) }
      source.activate()
      continuation.onTermination = { _ in source.cancel() }
    }
    #else
    return nil
    #endif
  }

  #if os(Linux)
  /// Reads all events that are there.
  private static func isAny(of names: Set<String>, in descriptor: CInt) -> Bool {
    var isFound = false
    withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
      while true {
        let count = read(descriptor, buffer.baseAddress, buffer.count)
        guard count > 0 else { return }
        var offset = 0
        while offset < count {
          let event = buffer.load(fromByteOffset: offset, as: inotify_event.self)
          offset += MemoryLayout<inotify_event>.size
          let name = buffer.baseAddress!.advanced(by: offset).assumingMemoryBound(to: CChar.self)
          // Without a name the kernel's queue ran over, or the folder itself is gone.
          isFound = isFound || event.len == 0 || names.contains(String(cString: name))
          offset += Int(event.len)
        }
      }
    }
    return isFound
  }
  #endif
}
