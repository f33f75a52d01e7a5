#if Server
import ArgumentParser
import TernServer
#endif
print("x")
