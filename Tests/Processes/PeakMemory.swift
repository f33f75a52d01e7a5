import Foundation

#if canImport(Glibc)
/// How many bytes this process had in memory at most while `body` ran, beyond what it had before.
package func peakMemory(_ body: () async throws -> Void) async throws -> Int {
  // What was freed before would hide what is taken now.
  _ = trimHeap(0)
  // Begins a new peak; see proc(5).
  try Data("5".utf8).write(to: URL(filePath: "/proc/self/clear_refs"))
  let before = try memory("VmRSS")
  try await body()
  return try memory("VmHWM") - before
}

@_silgen_name("malloc_trim")
private func trimHeap(_ kept: Int) -> Int32

private func memory(_ name: String) throws -> Int {
  let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
  let line = status.split(separator: "\n").first { $0.hasPrefix(name + ":") }
  let kibibytes = line?.split(separator: " ").dropFirst().first.flatMap { Int($0) }
  guard let kibibytes else { throw CocoaError(.fileReadCorruptFile) }
  return kibibytes << 10
}
#endif
