import GRDB

/// A statement that the app's table refused took the whole transaction with it, as a trigger with
/// RAISE(ROLLBACK) does: nothing of it is left.
package struct TransactionEnded: Error {
  package let cause: DatabaseError
}
