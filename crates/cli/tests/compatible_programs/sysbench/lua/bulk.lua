-- Many rows in few statements.
function thread_init()
  local driver = sysbench.sql.driver()
  con = driver:connect()
  con:query("DROP TABLE IF EXISTS bulk")
  local text = driver:name() == "mysql" and "MEDIUMTEXT" or "TEXT"
  con:query("CREATE TABLE bulk (id INTEGER NOT NULL, body " .. text .. ")")
end

local function put(count, width)
  con:bulk_insert_init("INSERT INTO bulk (id, body) VALUES")
  for i = 1, count do
    con:bulk_insert_next(string.format("(%d, '%s')", i, ("x"):rep(width)))
  end
  con:bulk_insert_done()
  print(count, width, con:query_row("SELECT COUNT(*), SUM(LENGTH(body)) FROM bulk"))
end

function event()
  put(1, 3)
  put(0, 3)
  put(1000, 1)
  put(5, 150000)
  con:bulk_insert_init("INSERT INTO bulk (id, body) VALUES")
  con:bulk_insert_next("(1, 'a'), (2, 'b')")
  con:bulk_insert_next("(3, NULL)")
  con:bulk_insert_done()
  print(con:query_row("SELECT COUNT(*), COUNT(body) FROM bulk"))
  print("done again", (pcall(con.bulk_insert_done, con)))
  con:bulk_insert_init("INSERT INTO absent VALUES")
  con:bulk_insert_next("(1)")
  print(pcall(con.bulk_insert_done, con))
end
