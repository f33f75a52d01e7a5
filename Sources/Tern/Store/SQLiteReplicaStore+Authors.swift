import TernCore
import TernDatabase

extension SQLiteReplicaStore {
  package func note(_ authors: [ReplicaID: RemoteAuthor], at remoteID: String) throws {
    let known = try read { try $0.remotes.authors(at: remoteID) }
    if known == authors { return }
    try transaction { try $0.remotes.save(authors, at: remoteID) }
  }
}
