typedef enum { DB_ERROR_NONE, DB_ERROR_IGNORABLE, DB_ERROR_FATAL } sql_error_t;
typedef enum {
  SB_CNT_OTHER, SB_CNT_READ, SB_CNT_WRITE, SB_CNT_TRX, SB_CNT_ERROR, SB_CNT_RECONNECT, SB_CNT_MAX
} sb_counter_type;
typedef enum {
  SQL_TYPE_NONE, SQL_TYPE_TINYINT, SQL_TYPE_SMALLINT, SQL_TYPE_INT, SQL_TYPE_BIGINT, SQL_TYPE_FLOAT, SQL_TYPE_DOUBLE,
  SQL_TYPE_TIME, SQL_TYPE_DATE, SQL_TYPE_DATETIME, SQL_TYPE_TIMESTAMP, SQL_TYPE_CHAR, SQL_TYPE_VARCHAR
} sql_bind_type_t;
typedef enum {
  SB_ARG_TYPE_NULL, SB_ARG_TYPE_BOOL, SB_ARG_TYPE_INT, SB_ARG_TYPE_SIZE, SB_ARG_TYPE_DOUBLE, SB_ARG_TYPE_STRING,
  SB_ARG_TYPE_LIST, SB_ARG_TYPE_FILE, SB_ARG_TYPE_MAX
} sb_arg_type_t;

typedef struct sql_driver { const char *sname; const char *lname; uint32_t handle; } sql_driver;
typedef struct sql_value { uint32_t len; const char *ptr; } sql_value;
typedef struct sql_row { void *ptr; sql_value *values; } sql_row;
typedef struct sql_statement sql_statement;
typedef struct sql_result {
  sb_counter_type counter_; uint32_t rows_; uint32_t fields_; sql_statement *statement_; void *ptr; sql_row row;
  double serial_;
} sql_result;
typedef struct {
  sql_error_t error; int sql_errno; const char *sql_state; const char *sql_errmsg; sql_driver *driver;
  uint32_t handle; uint32_t tid; sql_result *result; sql_statement *statement; uint32_t store;
} sql_connection;
struct sql_statement {
  sql_connection *connection; const char *query; sb_counter_type counter; uint32_t handle; uint32_t store;
};
typedef struct sql_bind {
  sql_bind_type_t type; void *buffer; unsigned long *data_len; unsigned long max_len; char *is_null;
} sql_bind;
typedef bool sb_opt_validate_t(const char *, const char *);
typedef struct sb_arg_t {
  const char *name; const char *desc; sb_arg_type_t type; const char *value; sb_opt_validate_t *validate;
} sb_arg_t;
typedef struct sb_histogram_t sb_histogram_t;

bool sb_more_events(int);
void sb_event_start(int);
void sb_event_stop(int);
uint32_t sb_rand_default(uint32_t, uint32_t);
uint32_t sb_rand_uniform(uint32_t, uint32_t);
uint32_t sb_rand_gaussian(uint32_t, uint32_t);
uint32_t sb_rand_special(uint32_t, uint32_t);
uint32_t sb_rand_pareto(uint32_t, uint32_t);
uint32_t sb_rand_zipfian(uint32_t, uint32_t);
uint32_t sb_rand_unique(void);
void sb_rand_str(const char *, char *);
uint32_t sb_rand_varstr(char *, uint32_t, uint32_t);
double sb_rand_uniform_double(void);
uint64_t sb_rand_uniform_uint64(void);
sb_histogram_t *sb_histogram_new(size_t, double, double);
void sb_histogram_delete(sb_histogram_t *);
void sb_histogram_update(sb_histogram_t *, double);
void sb_histogram_print(sb_histogram_t *);

int truetps_next_event(int);
int truetps_query(uint32_t, const char *, size_t);
int truetps_execute(uint32_t);
int truetps_may_restart(int);
void truetps_abandon_event(int);
void truetps_release_connection(sql_connection *);
void truetps_release_statement(sql_statement *);
