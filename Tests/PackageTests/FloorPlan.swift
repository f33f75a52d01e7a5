/// Which folders of a target use which: one uses another if a file of it names a type that only the
/// other declares. What an extension adds to a type is its user's part, and is not seen.
struct FloorPlan {
  /// One file that names one type.
  struct Use: Hashable {
    let file: String
    let type: String
  }

  /// From one folder to another.
  struct Arrow: Hashable {
    let from: String
    let to: String
  }

  let folders: [String]
  private(set) var uses: [Arrow: [Use]] = [:]

  /// - Parameter files: paths below the target's folder, with what is in them.
  init(_ files: [(path: String, text: String)]) {
    let files = files.map { file in
      (path: file.path, folder: Self.folder(of: file.path), names: TypeNames(file.text))
    }
    folders = Set(files.map(\.folder)).sorted()
    var homes: [String: Set<String>] = [:]
    for file in files {
      for type in file.names.declared { homes[type, default: []].insert(file.folder) }
    }
    for file in files {
      for type in file.names.mentioned {
        guard let home = homes[type], home.count == 1, let to = home.first, to != file.folder else {
          continue
        }
        uses[Arrow(from: file.folder, to: to), default: []].append(Use(file: file.path, type: type))
      }
    }
  }

  private static func folder(of path: String) -> String {
    path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
  }

  /// Folders that use each other, by however many steps; the names in order.
  var circles: [[String]] {
    let reached = Dictionary(uniqueKeysWithValues: folders.map { ($0, reachable(from: $0)) })
    let circles = folders.map { one in
      folders.filter { $0 == one || reached[one]!.contains($0) && reached[$0]!.contains(one) }
    }
    return Set(circles.filter { $0.count > 1 }).sorted { $0[0] < $1[0] }
  }

  private func reachable(from start: String) -> Set<String> {
    var (reached, open) = (Set<String>(), [start])
    while let folder = open.popLast() {
      for arrow in uses.keys where arrow.from == folder && reached.insert(arrow.to).inserted {
        open.append(arrow.to)
      }
    }
    return reached
  }

  /// What to turn round first: the arrows in a circle that have the fewest uses, a line each.
  func thinnest(in circle: [String], count: Int = 6) -> [String] {
    let arrows = uses.filter { circle.contains($0.key.from) && circle.contains($0.key.to) }.sorted {
      ($0.value.count, $0.key.from, $0.key.to) < ($1.value.count, $1.key.from, $1.key.to)
    }
    return arrows.prefix(count).map { arrow, uses in
      let named = uses.map { "\($0.file) names \($0.type)" }.sorted()
      let more = named.count > 4 ? ", and \(named.count - 4) more" : ""
      return "  \(arrow.from) → \(arrow.to): \(named.prefix(4).joined(separator: ", "))\(more)"
    }
  }
}
