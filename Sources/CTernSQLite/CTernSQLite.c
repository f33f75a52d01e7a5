#include "CTernSQLite.h"
