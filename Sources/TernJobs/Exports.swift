// Retries, advice on failures and the network's paths, of which jobs speak.
@_exported import TernCore
