import TernDatabase

/// How a fleet starts a device.
package struct DeviceArguments: Hashable, Sendable {
  package var name: String
  package var database: String
  package var url: String
  package var token: String
  package var seed: UInt64
  /// No write begins while this file is there.
  package var stopFile: String
  package var durability = Durability.powerLoss
  /// Whether dying is losing power: what SQLite did not sync is gone.
  package var losesPower = false
  /// How many of its migrations the app has by now.
  package var migrations = 1
  /// How many milliseconds it rests after each write.
  package var pause = 0

  package var words: [String] {
    [
      name, database, url, token, "\(seed)", stopFile, durability.rawValue, "\(losesPower)",
      "\(migrations)", "\(pause)",
    ]
  }

  package init?(_ words: [String]) {
    guard words.count == 10, let seed = UInt64(words[4]),
      let durability = Durability(rawValue: words[6]), let losesPower = Bool(words[7]),
      let migrations = Int(words[8]), let pause = Int(words[9])
    else { return nil }
    self.init(
      name: words[0], database: words[1], url: words[2], token: words[3], seed: seed,
      stopFile: words[5])
    (self.durability, self.losesPower, self.migrations) = (durability, losesPower, migrations)
    self.pause = pause
  }

  package init(
    name: String, database: String, url: String, token: String, seed: UInt64, stopFile: String
  ) {
    self.name = name
    self.database = database
    self.url = url
    self.token = token
    self.seed = seed
    self.stopFile = stopFile
  }
}
