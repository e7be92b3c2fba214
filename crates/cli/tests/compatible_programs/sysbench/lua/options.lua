-- Options of every type, and what the general ones look like to a script.
local line = sysbench.cmdline
line.options = {
  text = { "a text", "abc" },
  text_none = { "a text without a default" },
  text_named = { "a text by its type", "x", line.ARG_STRING },
  whole = { "a number", 12 },
  whole_named = { "a whole number", 34, line.ARG_INT },
  size = { "a size", 4096, line.ARG_SIZE },
  size_none = { "a size without a default", nil, line.ARG_SIZE },
  broken = { "a fraction", 2.75 },
  broken_named = { "a fraction by its type", 0.125, line.ARG_DOUBLE },
  yes = { "a switch that is on", true },
  no = { "a switch that is off", false },
  switch_none = { "a switch without a default", nil, line.ARG_BOOL },
  names = { "a list", { "north", "south" } },
  names_none = { "a list without a default", nil, line.ARG_LIST },
  ["with-dashes"] = { "a name with dashes", "d" },
}

local GENERAL = {
  "threads", "events", "time", "rate", "percentile", "histogram", "verbosity", "debug", "validate", "help", "version",
  "report_interval", "report_checkpoints", "forced_shutdown", "rand_type", "rand_seed", "rand_pareto_h",
  "rand_spec_iter", "rand_spec_pct", "rand_spec_res", "thread_stack_size", "config_file", "db_driver", "db_ps_mode",
  "db_debug", "mysql_user", "mysql_password", "mysql_db", "mysql_host", "mysql_socket", "mysql_ignore_errors",
  "mysql_ssl", "mysql_compression", "mysql_debug", "mysql_dry_run", "pgsql_host", "pgsql_user", "pgsql_password",
  "pgsql_db", "nonsense", "tx_rate", "max_requests",
}

local function shown(value)
  if type(value) ~= "table" then
    return type(value) .. " <" .. tostring(value) .. ">"
  end
  return "table " .. #value .. " <" .. table.concat(value, "|") .. ">"
end

function prepare()
  local names = {}
  for name in pairs(line.options) do
    names[#names + 1] = name
  end
  table.sort(names)
  for _, name in ipairs(names) do
    local option = name:gsub("-", "_")
    print(name, shown(sysbench.opt[option]))
  end
  for _, name in ipairs(GENERAL) do
    print(name, shown(sysbench.opt[name]))
  end
end

function init()
  sysbench.opt.whole = 99
end

function thread_init()
  print("in a worker", shown(sysbench.opt.whole), shown(sysbench.opt.names))
  sysbench.opt.text = "changed"
end

function event()
  print("in an event", sysbench.opt.text)
end

function done()
  print("at the end", sysbench.opt.text, sysbench.opt.whole)
end
