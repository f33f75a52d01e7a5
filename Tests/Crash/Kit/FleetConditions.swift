import Tern

/// What a fleet runs under. Anything but the default is for seeing that a loss is found.
package struct FleetConditions: Hashable, Sendable {
  package var durability = Durability.powerLoss
  /// Whether a device that dies loses what SQLite did not sync.
  package var losesPower = false
  /// A bug that devices and server have.
  package var bug: Planted?
  /// Whether what Tern keeps for the opening after a death in a migration is gone.
  package var forgetsRows = false

  package init() {}
}
