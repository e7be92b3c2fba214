-- Calls that make no sense, each by its name.
local t = sysbench.sql.type

local function try(name, f, ...)
  local result = { pcall(f, ...) }
  for i = 1, 3 do
    result[i] = tostring(result[i])
  end
  print(name, result[1], result[2])
end

local misuses = {
  closed_query = function(con) con:disconnect() con:query("SELECT 1") end,
  closed_row = function(con) con:disconnect() return con:query_row("SELECT 1") end,
  closed_prepare = function(con) con:disconnect() con:prepare("SELECT 1") end,
  closed_bulk = function(con) con:disconnect() con:bulk_insert_init("INSERT INTO x VALUES") end,
  closed_twice = function(con) con:disconnect() con:disconnect() end,
  bulk_next = function(con) con:bulk_insert_next("(1)") end,
  bulk_done = function(con) con:bulk_insert_done() end,
  prepare_wrong = function(con) con:prepare("SELECT 1 FROM absent") end,
  prepare_nonsense = function(con) con:prepare("SELEKT") end,
  no_method = function(con) con:nothing() end,
  no_driver = function() sysbench.sql.driver("nosuch") end,
  set_field = function(con) con.sql_errno = "x" end,
  bind_wrong_type = function(con)
    local statement = con:prepare("SELECT ?")
    for _, name in ipairs({ "DATE", "TIME", "DATETIME", "TIMESTAMP", "NONE" }) do
      print(name, pcall(statement.bind_create, statement, t[name]))
    end
    print("99", pcall(statement.bind_create, statement, 99))
  end,
}

function prepare()
  local names = {}
  for name in pairs(misuses) do
    names[#names + 1] = name
  end
  table.sort(names)
  for _, name in ipairs(names) do
    try(name, misuses[name], sysbench.sql.driver():connect())
  end
end
