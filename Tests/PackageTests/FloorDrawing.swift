/// Floors as a page draws them: a line for each folder, floors apart by dashes, the ground last.
struct FloorDrawing {
  /// From the roof down.
  private(set) var floors: [[String]] = [[]]

  init(_ lines: [String]) {
    for line in lines {
      if line.hasPrefix("---") {
        floors.append([])
      } else if let name = line.split(separator: " ").first {
        floors[floors.count - 1].append(String(name))
      }
    }
  }

  /// The drawings of a page, by the heading that each one follows: its blocks of text with dashes.
  static func all(in lines: [String]) -> [String: FloorDrawing] {
    var (drawings, heading, block) = ([String: FloorDrawing](), "", nil as [String]?)
    for line in lines {
      if let open = block {
        if line != "```" {
          block?.append(line)
          continue
        }
        block = nil
        guard open.contains(where: { $0.hasPrefix("---") }) else { continue }
        drawings[heading] = FloorDrawing(open)
      } else if line == "```text" {
        block = []
      } else if line.hasPrefix("#") {
        heading = String(line.drop { $0 == "#" || $0 == " " })
      }
    }
    return drawings
  }

  /// What the drawing has otherwise than the code.
  ///
  /// - Parameters:
  ///   - names: what there is.
  ///   - uses: which of them use which.
  func problems(in title: String, _ names: [String], _ uses: [FloorPlan.Arrow]) -> [String] {
    let drawn = floors.flatMap(\.self)
    let heights = Dictionary(
      floors.reversed().enumerated().flatMap { floor in floor.element.map { ($0, floor.offset) } },
      uniquingKeysWith: { first, _ in first })
    let missing = names.filter { heights[$0] == nil }.map { "\(title) does not draw \($0)." }
    let strange = drawn.filter { !names.contains($0) }
      .map { "\(title) draws \($0), which is gone." }
    let twice = Set(drawn.filter { name in drawn.count { $0 == name } > 1 }).sorted()
      .map { "\(title) draws \($0) twice." }
    let upwards = uses.filter { arrow in
      guard let from = heights[arrow.from], let to = heights[arrow.to] else { return false }
      return from <= to
    }.map { "\(title) draws \($0.from) no higher than \($0.to), which it uses." }
    return missing + strange + twice + upwards.sorted()
  }
}
