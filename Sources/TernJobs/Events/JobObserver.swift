/// Is told what becomes of jobs: to log it, count it, time it. Given to a queue in
/// ``JobEnvironment/observers``; without one, nothing of this costs anything.
///
/// ```swift
/// struct Printing: JobObserver {
///   func observe(_ event: JobEvent) { print(event.job, event.kind, event.change) }
/// }
/// ```
///
/// Only what is committed is told: a transaction that is rolled back, or that a crash ends, tells
/// nothing; and a crash between a commit and its telling leaves that untold. One process's events
/// of a database come in the order of its commits. What other processes do, their own
/// observers are told.
public protocol JobObserver: Sendable {
  /// Called after the commit, in no transaction, where the database's writer works: that waits
  /// meanwhile, and nothing else of the queue depends on what happens here.
  ///
  /// Must return soon, and must not use the database: not even to read from the queue's own writer,
  /// which GRDB refuses by ending the process. What takes longer is handed on.
  func observe(_ event: JobEvent)
}
