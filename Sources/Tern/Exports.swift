// Who imports Tern sees the types that its interface speaks of.
@_exported import TernCore
@_exported import TernDatabase
