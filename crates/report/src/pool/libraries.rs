//! The configuration of the libraries that applications have their pools from. A longer suite runs
//! each of them: `scripts/test-pools.sh`.

use truetps_pool::PoolParameters;
use truetps_record::SqlDialect;

/// A library with a connection pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PoolLibrary {
    HikariCp,
    Dbcp2,
    Druid,
    Go,
    SqlAlchemy,
    Sqlx,
    NodeMysql2,
}

impl PoolLibrary {
    pub const ALL: [Self; 7] = [
        Self::HikariCp,
        Self::Dbcp2,
        Self::Druid,
        Self::Go,
        Self::SqlAlchemy,
        Self::Sqlx,
        Self::NodeMysql2,
    ];

    /// The name as it is typed.
    pub fn name(self) -> &'static str {
        match self {
            Self::HikariCp => "hikaricp",
            Self::Dbcp2 => "dbcp2",
            Self::Druid => "druid",
            Self::Go => "go",
            Self::SqlAlchemy => "sqlalchemy",
            Self::Sqlx => "sqlx",
            Self::NodeMysql2 => "mysql2",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|library| library.name() == name)
    }

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::HikariCp => "HikariCP (Java): a properties file",
            Self::Dbcp2 => "Apache Commons DBCP 2 (Java): properties of BasicDataSourceFactory",
            Self::Druid => "Druid (Java): setters of DruidDataSource, or spring.datasource.druid",
            Self::Go => "Go: database/sql",
            Self::SqlAlchemy => "SQLAlchemy (Python)",
            Self::Sqlx => "sqlx (Rust)",
            Self::NodeMysql2 => "mysql2 (Node.js)",
        }
    }

    /// Its configuration, with `USER`, `PASSWORD`, `HOST` and `DB` to be filled in; `None`: it is
    /// not for this server.
    pub(crate) fn lines(
        self,
        parameters: &PoolParameters,
        dialect: SqlDialect,
    ) -> Option<Vec<String>> {
        let is_mysql = dialect == SqlDialect::Mysql;
        let text = match self {
            Self::HikariCp => hikari(parameters, dialect),
            Self::Dbcp2 => dbcp2(parameters, dialect),
            Self::Druid => druid(parameters, dialect),
            Self::Go => go(parameters, dialect),
            Self::SqlAlchemy => sqlalchemy(parameters, dialect),
            Self::Sqlx => sqlx(parameters, dialect),
            Self::NodeMysql2 if is_mysql => mysql2(parameters),
            Self::NodeMysql2 => return None,
        };
        Some(text.lines().map(str::to_owned).collect())
    }
}

/// The first login of a process, with TLS, takes longer than a user should wait for a free
/// connection.
fn connect_timeout_ms(parameters: &PoolParameters) -> u64 {
    const LEAST_MS: u64 = 10_000;
    parameters.acquire_timeout_ms.max(LEAST_MS)
}

/// How long a library waits for an answer from a server that is gone: longer than the timeout of a
/// statement, which leaves the connection in the pool.
fn gone_timeout_ms(parameters: &PoolParameters) -> u64 {
    parameters.statement_timeout_ms + connect_timeout_ms(parameters)
}

/// What ends a statement in Java.
#[derive(Clone, Copy, PartialEq, Eq)]
enum JdbcLimit {
    /// The pool gives each statement its timeout, and the driver cancels it in the server.
    Pool,
    /// PostgreSQL itself; MySQL has no limit for writes, so that the driver closes the connection.
    Url,
}

/// The time for connecting, and for an answer from a server that is gone: seconds for PostgreSQL,
/// else milliseconds.
fn jdbc(parameters: &PoolParameters, dialect: SqlDialect, limit: JdbcLimit) -> String {
    let (connect, statement) = (connect_timeout_ms(parameters), parameters.statement_timeout_ms);
    let gone = gone_timeout_ms(parameters);
    match dialect {
        SqlDialect::Mysql => {
            let socket = if limit == JdbcLimit::Pool { gone } else { statement };
            format!("jdbc:mysql://HOST:3306/DB?connectTimeout={connect}&socketTimeout={socket}")
        }
        SqlDialect::Postgres => format!(
            "jdbc:postgresql://HOST:5432/DB?connectTimeout={}&socketTimeout={}&options=-c%20statement_timeout={statement}",
            connect.div_ceil(1_000),
            gone.div_ceil(1_000),
        ),
    }
}

fn hikari(parameters: &PoolParameters, dialect: SqlDialect) -> String {
    let PoolParameters { size, acquire_timeout_ms, max_lifetime_s, .. } = parameters;
    format!(
        "jdbcUrl={}\n\
         username=USER\n\
         password=PASSWORD\n\
         maximumPoolSize={size}\n\
         minimumIdle={size}\n\
         # the first connection must work; the first login of a process is slow\n\
         initializationFailTimeout=30000\n\
         connectionTimeout={acquire_timeout_ms}\n\
         maxLifetime={}\n\
         # idleTimeout has no effect while minimumIdle = maximumPoolSize",
        jdbc(parameters, dialect, JdbcLimit::Url),
        max_lifetime_s * 1_000,
    )
}

fn dbcp2(parameters: &PoolParameters, dialect: SqlDialect) -> String {
    let PoolParameters { size, acquire_timeout_ms, max_lifetime_s, statement_timeout_ms, .. } =
        parameters;
    format!(
        "url={}\n\
         username=USER\n\
         password=PASSWORD\n\
         initialSize={size}\n\
         minIdle={size}\n\
         # the default of 8 closes and opens connections all the time\n\
         maxIdle={size}\n\
         maxTotal={size}\n\
         maxWaitMillis={acquire_timeout_ms}\n\
         maxConnLifetimeMillis={}\n\
         logExpiredConnections=false\n\
         # checks idle connections, and replaces those that are too old\n\
         timeBetweenEvictionRunsMillis=30000\n\
         minEvictableIdleTimeMillis=-1\n\
         testWhileIdle=true\n\
         defaultQueryTimeout={}",
        jdbc(parameters, dialect, JdbcLimit::Pool),
        max_lifetime_s * 1_000,
        statement_timeout_ms.div_ceil(1_000),
    )
}

fn druid(parameters: &PoolParameters, dialect: SqlDialect) -> String {
    let PoolParameters { size, acquire_timeout_ms, max_lifetime_s, statement_timeout_ms, .. } =
        parameters;
    let url = match dialect {
        SqlDialect::Mysql => "jdbc:mysql://HOST:3306/DB".to_owned(),
        SqlDialect::Postgres => {
            format!(
                "jdbc:postgresql://HOST:5432/DB?options=-c%20statement_timeout={statement_timeout_ms}"
            )
        }
    };
    format!(
        "url={url}\n\
         username=USER\n\
         password=PASSWORD\n\
         # not in the URL: Druid takes PostgreSQL's seconds for milliseconds\n\
         connectTimeout={}\n\
         socketTimeout={}\n\
         initialSize={size}\n\
         minIdle={size}\n\
         maxActive={size}\n\
         # the default of -1 waits for ever\n\
         maxWait={acquire_timeout_ms}\n\
         phyTimeoutMillis={}\n\
         keepAlive=true\n\
         testWhileIdle=true\n\
         validationQuery=SELECT 1\n\
         # DruidDataSourceFactory ignores this one\n\
         queryTimeout={}\n\
         # init() opens the pool; without it, the first user does",
        connect_timeout_ms(parameters),
        gone_timeout_ms(parameters),
        max_lifetime_s * 1_000,
        statement_timeout_ms.div_ceil(1_000),
    )
}

fn go(parameters: &PoolParameters, dialect: SqlDialect) -> String {
    let PoolParameters { size, acquire_timeout_ms, max_lifetime_s, statement_timeout_ms, .. } =
        parameters;
    let open = match dialect {
        SqlDialect::Mysql => format!(
            "db, err := sql.Open(\"mysql\", \
             \"USER:PASSWORD@tcp(HOST:3306)/DB?timeout={}ms&readTimeout={statement_timeout_ms}ms&writeTimeout={statement_timeout_ms}ms&interpolateParams=true\")",
            connect_timeout_ms(parameters),
        ),
        SqlDialect::Postgres => format!(
            "db, err := sql.Open(\"pgx\", \
             \"postgres://USER:PASSWORD@HOST:5432/DB?connect_timeout={}&statement_timeout={statement_timeout_ms}\")",
            connect_timeout_ms(parameters).div_ceil(1_000),
        ),
    };
    format!(
        "{open}\n\
         db.SetMaxOpenConns({size})\n\
         // the default of 2 closes and opens connections all the time\n\
         db.SetMaxIdleConns({size})\n\
         db.SetConnMaxLifetime({max_lifetime_s} * time.Second)\n\
         db.SetConnMaxIdleTime(0)\n\
         // there is no acquire timeout: the context of a call bounds the wait and the statement \
         together\n\
         ctx, cancel := context.WithTimeout(ctx, {} * time.Millisecond)",
        acquire_timeout_ms + statement_timeout_ms,
    )
}

fn sqlalchemy(parameters: &PoolParameters, dialect: SqlDialect) -> String {
    let PoolParameters { size, acquire_timeout_ms, max_lifetime_s, statement_timeout_ms, .. } =
        parameters;
    let connect_s = connect_timeout_ms(parameters).div_ceil(1_000);
    let statement_s = statement_timeout_ms.div_ceil(1_000);
    let (url, connect_args) = match dialect {
        SqlDialect::Mysql => (
            "mysql+pymysql://USER:PASSWORD@HOST:3306/DB",
            format!(
                "\"connect_timeout\": {connect_s}, \"read_timeout\": {statement_s}, \
                 \"write_timeout\": {statement_s}"
            ),
        ),
        SqlDialect::Postgres => (
            "postgresql+psycopg://USER:PASSWORD@HOST:5432/DB",
            format!(
                "\"connect_timeout\": {connect_s}, \"options\": \"-c \
                 statement_timeout={statement_timeout_ms}\""
            ),
        ),
    };
    format!(
        "engine = create_engine(\n    \
             \"{url}\",\n    \
             pool_size={size},\n    \
             max_overflow=0,  # the default of 10 makes the pool larger than its size\n    \
             pool_timeout={},\n    \
             pool_recycle={max_lifetime_s},\n    \
             pool_pre_ping=True,\n    \
             connect_args={{{connect_args}}},\n\
         )\n\
         # connections are made when they are first used: there is no initial or least number",
        *acquire_timeout_ms as f64 / 1e3,
    )
}

fn sqlx(parameters: &PoolParameters, dialect: SqlDialect) -> String {
    let PoolParameters { size, acquire_timeout_ms, max_lifetime_s, statement_timeout_ms, .. } =
        parameters;
    let (options, url) = match dialect {
        SqlDialect::Mysql => ("MySqlPoolOptions", "mysql://USER:PASSWORD@HOST:3306/DB".to_owned()),
        SqlDialect::Postgres => (
            "PgPoolOptions",
            format!(
                "postgres://USER:PASSWORD@HOST:5432/DB?options[statement_timeout]={statement_timeout_ms}"
            ),
        ),
    };
    let statement = match dialect {
        SqlDialect::Mysql => format!(
            "\n// there is no statement timeout: \
             tokio::time::timeout(Duration::from_millis({statement_timeout_ms}), statement)"
        ),
        SqlDialect::Postgres => String::new(),
    };
    format!(
        "let pool = {options}::new()\n    \
             .max_connections({size})\n    \
             .min_connections({size})\n    \
             .acquire_timeout(Duration::from_millis({acquire_timeout_ms}))\n    \
             .idle_timeout(None)\n    \
             .max_lifetime(Duration::from_secs({max_lifetime_s}))\n    \
             .connect(\"{url}\")\n    \
             .await?;{statement}"
    )
}

fn mysql2(parameters: &PoolParameters) -> String {
    let PoolParameters { size, statement_timeout_ms, idle_timeout_s, .. } = parameters;
    format!(
        "const pool = mysql.createPool({{\n  \
           uri: 'mysql://USER:PASSWORD@HOST:3306/DB',\n  \
           connectionLimit: {size},\n  \
           maxIdle: {size},\n  \
           idleTimeout: {},\n  \
           connectTimeout: {},\n  \
           waitForConnections: true,\n  \
           queueLimit: {}, // the default of 0 lets the queue grow for ever\n  \
           enableKeepAlive: true,\n\
           }})\n\
           // there is no acquire timeout and no max lifetime; a statement: pool.query({{ sql, \
           timeout: {statement_timeout_ms} }}, values)",
        idle_timeout_s * 1_000,
        connect_timeout_ms(parameters),
        u64::from(*size) * 10,
    )
}
