import Foundation
import TernCore

extension RemoteError: LocalizedError {}

extension WireError: LocalizedError {}
