#if Server
import Hummingbird
import Crypto
import GRDB
#endif
