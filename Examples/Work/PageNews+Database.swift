import ExamplePages
import GRDB
import Tern
import TernJobs
import TernNetwork

extension PageNews {
  /// Of silence, after which a word keeps the connection open.
  private static let patience = Duration.seconds(15)

  /// Tells a page of each commit of this process, of jobs of others, of another network and of how
  /// the sync stands, until its task is cancelled.
  package static func follow(
    _ database: some DatabaseReader, _ jobs: JobQueue, sync: SyncStatus? = nil,
    _ tell: @escaping @Sendable (PageNews) -> Void
  ) async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        let commits = ValueObservation.tracking(region: .fullDatabase) { _ in }
        // What ends this ends the stream, and the page asks for another one.
        do { for try await _ in commits.values(in: database) { tell(.changed) } } catch {}
      }
      group.addTask { for await _ in jobs.announcements() { tell(.changed) } }
      if let sync { group.addTask { for await _ in sync.updates { tell(.changed) } } }
      group.addTask { for await _ in SystemPath.shared.changes() { tell(.changed) } }
      group.addTask {
        // Cancelled, it ends.
        while (try? await Task.sleep(for: patience)) != nil { tell(.silence) }
      }
      await group.next()
      group.cancelAll()
    }
  }
}
