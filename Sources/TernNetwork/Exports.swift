// Advice on failures and the network's paths, of which exchanges speak.
@_exported import TernCore
