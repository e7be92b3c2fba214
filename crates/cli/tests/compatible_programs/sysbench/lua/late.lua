-- Answers that come at once and answers that come late: in loops that LuaJIT compiles, in coroutines, and in functions
-- that C code calls.
local SLEEP = { mysql = "SELECT SLEEP(0.12) + 3", pgsql = "SELECT 3 FROM pg_sleep(0.12)" }

function event()
  local driver = sysbench.sql.driver()
  local con = driver:connect()
  local late = SLEEP[driver:name()]

  local sum = 0
  for n = 1, 400 do sum = sum + con:query_row(n % 150 == 0 and late or "SELECT " .. n) end
  print("text", sum)

  local soon, late_too = con:prepare("SELECT 4"), con:prepare(late)
  local rows = 0
  for n = 1, 400 do
    local result = (n % 150 == 0 and late_too or soon):execute()
    rows = rows + result.nrows
    result:free()
  end
  print("prepared", rows)
  soon:close()
  late_too:close()

  local inner = coroutine.wrap(function()
    coroutine.yield(con:query_row(late))
    return con:query_row("SELECT 5")
  end)
  print("coroutine", inner(), inner())
  print("gsub", ("ab"):gsub(".", function(letter) return con:query_row(letter == "a" and late or "SELECT 6") end))
  local list = { 2, 1 }
  table.sort(list, function(a, b)
    con:query(late)
    return a < b
  end)
  print("sort", list[1], list[2])
  print("error", pcall(con.query, con, "SELECT no_such_column"))
  con:disconnect()
end
