import Tern

extension SyncStatus {
  /// Tells why nothing syncs, each time that it is another reason.
  package func forEachError(_ tell: (RemoteError) -> Void) async {
    var last: RemoteError.Code?
    for await now in updates where now.lastError?.code != last {
      last = now.lastError?.code
      if let error = now.lastError { tell(error) }
    }
  }
}
