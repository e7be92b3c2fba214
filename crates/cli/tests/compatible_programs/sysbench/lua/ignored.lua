-- A duplicate key, which may be ignored.
local n = 0

function thread_init()
  con = sysbench.sql.driver():connect()
  con:query("DROP TABLE IF EXISTS twice")
  con:query("CREATE TABLE twice (id INTEGER PRIMARY KEY)")
  con:query("INSERT INTO twice VALUES (1)")
end

function event()
  n = n + 1
  con:query("INSERT INTO twice VALUES (" .. math.max(1, n - 2) .. ")")
end

function thread_done()
  print("tries", n)
end
