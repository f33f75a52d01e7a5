#if PostgreSQL
import TernCore

extension PostgreSQLSpaceStore {
  public func statistics() throws -> StoreStatistics {
    let row = try run(
      """
      SELECT count(*), least(coalesce(sum(bytes), 0), \(Self.most))::bigint,
        least(coalesce(sum(kept_bytes), 0), \(Self.most))::bigint
      FROM \(schema("space")) WHERE NOT \(RemovedSpace.condition)
      """
    ).first!
    return StoreStatistics(
      spaces: Int(row.integer(0)), bytes: Int(row.integer(1)), keptBytes: Int(row.integer(2)),
      database: try databaseStatistics())
  }

  /// What a damaged space's numbers don't make overflow.
  private static let most = Int64(1) << 53

  /// What keeps vacuum from removing rows is a transaction with a snapshot or an id, or a prepared
  /// one. The activity of other roles is hidden from a role that may not read all statistics.
  ///
  /// - Source: https://www.postgresql.org/docs/15/monitoring-stats.html
  private func databaseStatistics() throws -> DatabaseStatistics {
    let row = try run(
      """
      SELECT pg_has_role(current_user, 'pg_read_all_stats', 'USAGE')::int::bigint,
        (current_setting('synchronous_standby_names') <> ''
          AND current_setting('synchronous_commit') IN ('on', 'remote_apply'))::int::bigint,
        (SELECT max(floor(extract(epoch FROM clock_timestamp() - began) * 1000))::bigint FROM (
          SELECT xact_start AS began FROM pg_stat_activity
          WHERE datname = current_database() AND pid <> pg_backend_pid()
            AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL)
          UNION ALL
          SELECT prepared FROM pg_prepared_xacts WHERE database = current_database()) AS open),
        (SELECT min(pg_wal_lsn_diff(pg_current_wal_lsn(), flush_lsn))::bigint
          FROM pg_stat_replication WHERE state = 'streaming')
      """
    ).first!
    let seesAll = row.flag(0)
    return DatabaseStatistics(
      oldestSnapshot: seesAll ? .milliseconds(row.integer(2)) : nil,
      waitsForStandby: row.flag(1),
      standbyLagBytes: seesAll && !row.isNull(3) ? max(0, Int(row.integer(3))) : nil)
  }
}
#endif
