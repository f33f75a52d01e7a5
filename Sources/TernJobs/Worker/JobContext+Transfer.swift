@_spi(Rehearsal) import TernCore

extension JobContext {
  /// A step that something outside of this process does, in a life of the process or over several.
  /// Notes it in the job's row, hands it over, and lets the job wait for its end.
  ///
  /// - Parameter begin: hands it over by its id; does nothing where the system has it already.
  /// - Returns: its end, in an attempt after it came.
  /// - Throws: `CancellationError` as long as there is none, which ends the attempt; what `begin`
  ///   throws; ``JobQueueError`` `.duplicateStep`, `.tooManyCheckpoints`, `.notRunning`;
  ///   `DatabaseError`.
  package func transfer<S: TransferSystem>(
    _ name: String, by system: S.Type, within limit: Duration,
    _ begin: (_ id: String, S) async throws -> Void
  ) async throws -> TransferEnd {
    guard attempted.begin(step: name) else { throw JobQueueError.duplicateStep(name, of: id) }
    defer { attempted.end(step: name) }
    guard let transfers = worker.transfers, let system = transfers.system as? S else {
      throw JobFailure(
        .permanent, "job \(id) begins a transfer, and its worker has none; make it with some")
    }
    switch try await transfers.transfer(name, limit, of: claim, attempted.credential) {
    case .done(let content): return .done(content)
    case .refused(let refused), .late(_, let refused): return end(refused, name)
    case .begun(let id):
      do {
        try CrashPoint.reach(.uploadBeforeBegin)
        try AttemptPoint.reach(.work(name))
        try await begin(id, system)
        try CrashPoint.reach(.uploadAfterBegin)
      } catch {
        await transfers.keep(id)
        throw error
      }
      await transfers.confirm(id)
      attempted.entrust(name)
      throw CancellationError()
    }
  }

  /// Of what a transfer came to the handler can make nothing: as its attempt fails, that is no
  /// step's result any more, and the next one begins a new transfer.
  package func reject(transfer name: String) { attempted.spend(.step, name) }

  private func end(_ refused: RefusedTransfer, _ name: String) -> TransferEnd {
    attempted.spend(.refusal, name)
    if !refused.isSteady { attempted.noteUnsteadiness() }
    // It was sent with that of another attempt.
    if refused.answer != nil {
      attempted.note(credential: refused.credential.map(CredentialMark.init))
    }
    return refused.answer.map(TransferEnd.refused) ?? .late
  }
}
