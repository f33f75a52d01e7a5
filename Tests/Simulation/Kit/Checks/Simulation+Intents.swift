#if Server && Rehearsal
import Tern

extension Simulation {
  /// Whether two files may hold the same writes.
  var hasCopies: Bool { script.steps.contains(where: \.kind.copiesFile) }

  /// Every committed write is in an operation of its device, unless the device overwrote it.
  func checkIntents(_ devices: [SimulatedDevice], _ model: Model) -> String? {
    let rows = model.rows(in: SimulatedFile.newestVersion)
    for device in devices {
      guard let id = try? device.replica.store.replicaID() else { return "INV-02: no replica" }
      let intents = device.file.intents
      let ids = device.file.formerIDs.merging([id: .max]) { $1 }
      let lost =
        lostText(intents, model, ids) ?? lostNumber(intents, model, ids)
        ?? lostPiece(intents, model, ids) ?? lostRemoval(intents, model, ids, rows)
      if let lost { return "INV-02: device \(device.index) \(lost)" }
    }
    return nil
  }

  private func lostText(
    _ intents: Intents, _ model: Model, _ ids: [ReplicaID: UInt64]
  ) -> String? {
    for (key, texts) in intents.texts {
      let carried = model.texts(of: key, by: ids)
      for (column, text) in texts where !carried.contains(text) {
        return "committed \(key).\(column) = \(text), which no operation carries"
      }
    }
    for (key, sum) in intents.sums where !intents.deletedKeys.contains(key) {
      let carried = model.sum(of: key, by: ids)
      if carried != sum { return "added \(sum) to \(key) and its operations carry \(carried)" }
    }
    return nil
  }

  private func lostNumber(
    _ intents: Intents, _ model: Model, _ ids: [ReplicaID: UInt64]
  ) -> String? {
    for (key, numbers) in intents.numbers {
      for (column, number) in numbers {
        // An extreme that stands already is written by nobody again.
        let carried =
          column == "u"
          ? model.lastValues(of: column, in: key, by: ids) : model.values(of: column, in: key)
        if !carried.contains(number) {
          return "committed \(key).\(column) = \(number), and its operations carry \(carried)"
        }
      }
    }
    return nil
  }

  /// Of texts and sets.
  private func lostPiece(
    _ intents: Intents, _ model: Model, _ ids: [ReplicaID: UInt64]
  ) -> String? {
    for (key, pieces) in intents.added {
      let missing = pieces.subtracting(model.pieces(of: key, by: ids))
      if let piece = missing.first { return "added \(piece) to \(key), which no operation carries" }
    }
    return nil
  }

  /// What was taken out stays out, and a row that is known to others ends. A copy may hold the same writes, and
  /// keep them.
  private func lostRemoval(
    _ intents: Intents, _ model: Model, _ ids: [ReplicaID: UInt64], _ rows: [String: Model.Row]
  ) -> String? {
    if hasCopies { return nil }
    for (key, pieces) in intents.removed {
      let shown = rows[key]?.pieces ?? []
      if let piece = pieces.intersection(shown).first(where: { !model.isInsertedAgain($0, in: key) }
      ) {
        return "took \(piece) out of \(key), which has it"
      }
    }
    for (key, name) in intents.ends {
      if let life = model.life(of: key, showing: name), model.lastEnd(of: key, by: ids) < life {
        return "deleted \(key) with \(name), which no operation says"
      }
    }
    return nil
  }
}

extension Model.Row {
  fileprivate var pieces: Set<Intents.Piece> {
    Intents.Piece.letters(of: cells["body"]?.string ?? "")
      .union(Intents.Piece.elements(of: cells["tags"]?.string ?? ""))
  }
}
#endif
