#ifndef WAYSTATION_CPOSTGRES_SHIM_H
#define WAYSTATION_CPOSTGRES_SHIM_H

#include <libpq-fe.h>

#ifndef LIBPQ_HAS_PIPELINING
#error "libpq 14 or newer is needed, for PQenterPipelineMode"
#endif

/* Fields of an error or a notice (postgres_ext.h): macros of characters, which Swift imports as
   numbers of another type than PQresultErrorField takes. */
enum {
  waystation_pg_severity = PG_DIAG_SEVERITY_NONLOCALIZED,
  waystation_pg_sqlstate = PG_DIAG_SQLSTATE,
  waystation_pg_message = PG_DIAG_MESSAGE_PRIMARY,
  waystation_pg_function = PG_DIAG_SOURCE_FUNCTION,
};

#endif
