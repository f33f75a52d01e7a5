/// A row of a synced table: the table's number in the catalogue, and the packed key.
struct RowID: Hashable {
  let table: Int64
  let key: [UInt8]
}
