#if Server
/// Every metric of a server, by the name under which Prometheus knows it.
enum Metric: String, CaseIterable {
  // What the server did since it began.
  case requests = "tern_requests_total"
  case requestTime = "tern_request_seconds"
  case refusals = "tern_refusals_total"
  case pushes = "tern_pushes_total"
  case operations = "tern_operations_accepted_total"
  case storeErrors = "tern_store_errors_total"
  // What it does now.
  case ready = "tern_ready"
  case waiting = "tern_waiting_requests"
  case eventStreams = "tern_event_streams"
  case connections = "tern_connections"
  case connectionLimit = "tern_connections_limit"
  case bodyBytes = "tern_body_bytes_in_flight"
  case maintenanceAge = "tern_maintenance_age_seconds"
  // What the store holds, read once a minute.
  case statisticsAge = "tern_store_statistics_age_seconds"
  case spaces = "tern_spaces"
  case storedBytes = "tern_stored_bytes"
  case keptBytes = "tern_kept_bytes"
  case diskFreeBytes = "tern_disk_free_bytes"
  // How a database stands.
  case databaseConnections = "tern_database_connections_in_use"
  case databaseConnectionLimit = "tern_database_connections_limit"
  case oldestSnapshot = "tern_database_oldest_snapshot_seconds"
  case waitsForStandby = "tern_database_waits_for_standby"
  case standbyLag = "tern_database_standby_lag_bytes"

  enum Kind: String {
    case counter, gauge, histogram
  }

  var kind: Kind {
    switch self {
    case .requestTime: .histogram
    case .requests, .refusals, .pushes, .operations, .storeErrors: .counter
    default: .gauge
    }
  }

  /// One line, which says what is counted and in which unit.
  var help: String {
    switch self {
    case .requests: "Requests that were answered, by route and status."
    case .requestTime: "Seconds from a request's head to its answer's, by route."
    case .refusals: "Requests that were refused, by the code of their problem."
    case .pushes: "Pushes that were acknowledged."
    case .operations: "Operations that pushes added; repeated ones don't count."
    case .storeErrors: "Requests and tasks that failed because the store or its disk did."
    case .ready: "1 while the server takes requests and its store answers, otherwise 0."
    case .waiting: "Requests that wait for their turn, by queue."
    case .eventStreams: "Open event streams."
    case .connections: "Open connections of devices."
    case .connectionLimit: "The most connections of devices."
    case .bodyBytes: "Bytes of bodies in memory, by direction."
    case .maintenanceAge: "Seconds since a round of maintenance ended, or the server began."
    case .statisticsAge: "Seconds since the store's own numbers were read."
    case .spaces: "Spaces in the store."
    case .storedBytes: "Bytes that the spaces store, as their quotas count them."
    case .keptBytes: "Bytes of trimmed operations that can still be brought back."
    case .diskFreeBytes: "Bytes that are free on the data file's disk."
    case .databaseConnections: "Database connections of this process in use."
    case .databaseConnectionLimit: "The most database connections of this process."
    case .oldestSnapshot:
      "Seconds since the oldest transaction began that keeps vacuum from removing rows."
    case .waitsForStandby:
      "1 if commits wait for a standby. With 0 a failover can lose acknowledged pushes."
    case .standbyLag: "Bytes of log that the nearest standby has not stored yet."
    }
  }
}
#endif
