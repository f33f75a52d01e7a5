import Dispatch
import Foundation

/// Tells when files of one folder were touched or closed, by whatever process. It needs no file to
/// be there, and follows one that is made anew.
///
/// An event is a hint and may come without a change. That a database's file is written tells
/// nothing: in WAL mode a commit is seen by others only after its last write.
package enum FileWatch {
  package enum Event {
    /// By ``touch(_:)``.
    case touched
    /// By who had it open for writing, or by the death of that process.
    case closed
  }

  /// Tells those who watch a file, where there is one.
  package static func touch(_ path: String) {
    // Where there is no file nobody watches it, and one that can't be touched is looked at in time.
    _ = utimensat(AT_FDCWD, path, nil, 0)
  }

  /// One element for all that happened since the last one was taken, until the reader's task is
  /// cancelled or the stream is let go.
  ///
  /// It ends as well when the folder goes.
  ///
  /// - Returns: `nil` where the system can't watch the file's folder, or no more of them. On
  ///   Apple's systems that is always so, for now: who follows files there looks at intervals.
  package static func events(_ event: Event, of path: String) -> AsyncStream<Void>? {
    #if os(Linux)
    let url = URL(filePath: path)
    let name = url.lastPathComponent
    let folder = url.deletingLastPathComponent().path(percentEncoded: false)
    let descriptor = inotify_init1(CInt(IN_NONBLOCK) | CInt(IN_CLOEXEC))
    guard descriptor >= 0 else { return nil }
    let mask = UInt32(event == .touched ? IN_ATTRIB : IN_CLOSE_WRITE)
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
        switch news(of: name, in: descriptor) {
        case .some(true): continuation.yield()
        case .some(false): break
        case nil: continuation.finish()
        }
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
  ///
  /// - Returns: whether one is of the file; `nil` when no more will come.
  private static func news(of file: String, in descriptor: CInt) -> Bool? {
    var (isFound, isOver) = (false, false)
    withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
      while true {
        let count = read(descriptor, buffer.baseAddress, buffer.count)
        guard count > 0 else { return }
        var offset = 0
        while offset < count {
          let event = buffer.load(fromByteOffset: offset, as: inotify_event.self)
          offset += MemoryLayout<inotify_event>.size
          let name = buffer.baseAddress!.advanced(by: offset).assumingMemoryBound(to: CChar.self)
          // Without a name it is the folder's own, or the kernel's queue ran over.
          isFound = isFound || event.len == 0 || String(cString: name) == file
          isOver = isOver || event.mask & UInt32(IN_IGNORED) != 0
          offset += Int(event.len)
        }
      }
    }
    return isOver ? nil : isFound
  }
  #endif
}
