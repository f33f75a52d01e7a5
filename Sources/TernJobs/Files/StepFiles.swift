import Foundation
import Synchronization

/// The files that one step makes and gives up. Nothing of it is true before the step's commit.
public final class StepFiles: Sendable {
  private let folder: JobFolder?
  private let state = Mutex(State())

  private struct State {
    var created: [String: JobFile] = [:]
    var released: Set<String> = []
  }

  /// - Parameter folder: `nil` where no file can be made.
  init(folder: JobFolder? = nil) {
    self.folder = folder
  }

  /// A place to write a file to, which is the job's under this name from the step's commit on, in
  /// place of one that had the name before. Without the commit it is removed.
  public func create(_ name: String) -> URL {
    guard let folder else { preconditionFailure("a value makes no files") }
    let file = JobFile(name: name, path: folder.newPath(), folder: folder)
    state.withLock { $0.created[name] = file }
    return URL(filePath: folder.absolute(file.path))
  }

  /// The job has no use for a file any more: it is removed after the step's commit. A name that no
  /// file of the job has fails the step, by ``JobQueueError`` `.noSuchFile`.
  public func release(_ name: String) {
    state.withLock { _ = $0.released.insert(name) }
  }

  var created: [JobFile] {
    state.withLock { $0.created.values.sorted { $0.name < $1.name } }
  }

  var released: [String] { state.withLock { $0.released.sorted() } }
}
