/// What is to happen when a job of the same kind and key is there that has not ended.
public enum JobUniqueness: Hashable, Sendable {
  /// The new one is not enqueued: one that waits, runs or is parked does its work. A parked one
  /// keeps its key until it is retried or removed: after five deaths of its process another
  /// would bring more.
  case skip(String)
  /// One that waits or is parked becomes the new one: its payload, files, priority and time, with
  /// all its attempts and none of its checkpoints. One that runs is left alone: the new one may
  /// start beside it, and end before it.
  case replace(String)

  var key: String {
    switch self {
    case .skip(let key), .replace(let key): key
    }
  }
}
